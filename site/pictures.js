// The pictures of the articles: what each asks the simulator, draws of the answers so far, and has as a table.

/** The median. */
function middle(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

const WAYS = { system: 'system sleep', spin: 'spin loop', precise: 'preciseSleep', timer: 'timerSleep' };

/** The rows of a figure, a list for each way of waiting. */
const byWay = (rows, figure) => Object.keys(WAYS).map((way) => rows.filter((row) => row.figure === figure && row.subject === way));

/** The sleeps of a Run whose phases begin with a number, as `7 ms asked`: by that number, for each thread on each model. */
function sleepsByNumber({ results, scenario }) {
  const numbers = new Map(scenario.phases.map(({ name }) => [name, Number.parseFloat(name)]));
  if (numbers.size < 5 || [...numbers.values()].some(Number.isNaN)) return [];
  const rows = results.filter(({ experiment, samples_slept_ns: slept }) => experiment === 'scenario' && slept?.length);
  const isOne = new Set(rows.map(({ subject }) => subject)).size === 1;
  const nameOf = ({ subject, on }) => (isOne ? on : `${subject} on ${on}`);
  return [...new Set(rows.map(nameOf))].map((name) => ({
    name,
    rows: rows.filter((row) => nameOf(row) === name).map(({ phase, samples_slept_ns }) => ({ asked: numbers.get(phase), slept: samples_slept_ns.map((ns) => ns / 1e6) })),
  }));
}

/** The lengths of sleeps by a number, in milliseconds both. */
function drawByNumber(place, series, { label, height, x, y }) {
  const most = { x: largest(series.flatMap(({ rows }) => rows.map(({ asked }) => asked))), y: largest(series.flatMap(({ rows }) => rows.map(({ slept }) => largest(slept)))) };
  drawPlot(place, {
    label, height, x: { name: x, low: 0, high: most.x + 1 || 16 }, y: { name: y, low: 0, high: Math.ceil(most.y / 5) * 5 || 20 },
    series: series.map(({ name, rows }) => ({
      name, line: rows.map(({ asked, slept }) => [asked, middle(slept)]), marks: rows.flatMap(({ asked, slept }) => slept.map((ms) => [asked, ms])),
    })),
  });
}

const changeInterval = {
  title: 'How long Sleep(1) takes while another program asks for 1 to 15 ms',
  caption: 'Each mark is a length that sleeps had, in four seconds for each interval; lines go through the medians. Up to Windows 10 1909 a sleep follows whatever any program asks for. Since 2004 it does not, below 9 ms.',
  height: 340,
  answers: [],
  questions: () => [{ ask: 'simulate', scenario: 'change-interval', seed: 1 }],
  series() { return this.answers.flatMap(({ run }) => sleepsByNumber(JSON.parse(run))); },
  draw(place) {
    drawByNumber(place, this.series(), { label: this.title, height: this.height, x: 'ms that another program asked for', y: 'ms that Sleep(1) takes' });
  },
  command() { return this.answers[0].command; },
  table() {
    const all = this.series();
    return table('Sleep(1) by interval', ['asked for', ...all.flatMap(({ name }) => [`${name}: median`, 'from', 'to'])],
      all[0].rows.map(({ asked }, i) => [`${asked} ms`, ...all.flatMap(({ rows: { [i]: { slept } } }) => [middle(slept), Math.min(...slept), largest(slept)].map((ms) => time(ms * 1e6)))]));
  },
};

const LOCKS = { tas: 'spin lock', mcs: 'queued lock', mutex: 'blocking lock' };
const TAKES = { 1: '1 page a take', growing: 'ever more pages a take', half: 'half of what is left a take', n: 'as many pages a take as threads', '2n': 'twice as many pages a take as threads' };
const PARTS = ['zeroing', 'holding the lock', 'waiting for the lock', 'other work'];

const cpuTime = {
  title: 'CPU time to zero 1 GB, by what it went to',
  caption: 'Windows 10 as the article saw it, each of its proposals, and what became of it. The whole bar is CPU time of all threads together.',
  answers: [],
  get height() { return catalogue.lines.length * 40 + 76; },
  questions: () => catalogue.lines.map((_, line) => ({ ask: 'line', line })),
  rows() {
    return catalogue.lines.map(({ what, threads, lock, batch }, i) => {
      const line = this.answers[i];
      const per = line && 1 / line.gb_per_cpu_s;
      const many = `${threads} thread${threads > 1 ? 's' : ''}`;
      return {
        name: `${what}: ${many}, ${LOCKS[lock] ?? lock}, ${TAKES[batch] ?? batch}`, per,
        short: `${what}${batch === '1' ? '' : ` (${batch})`}: ${many}`,
        shares: line && ['zeroing', 'hold', 'waiting', 'other'].map((part) => line.cpu[part]),
        note: line && `${number(per)} s, ${line.cpu.waiting < 0.01 ? 'under 1' : Math.round(100 * line.cpu.waiting)} % waiting`,
      };
    });
  },
  draw(place) {
    const narrow = widthOf(place) < 560;
    drawBars(place, { label: this.title, height: this.height, parts: PARTS, unit: 'seconds of CPU time for 1 GB', rows: this.rows().map(({ name, short, per, shares, note }) => ({ name: narrow ? short : name, note, values: shares?.map((share) => per * share) })) });
  },
  command: () => 'punctual zero simulate article',
  table() {
    return table('CPU time by what it went to', ['.pool', 'CPU s for 1 GB', ...PARTS.map((part) => `${part} %`)],
      this.rows().map(({ name, per, shares }) => [name, number(per), ...shares.map((share) => number(100 * share))]));
  },
};

const bursts = {
  title: 'CPUs that zero while the article’s test runs',
  caption: 'All threads start every two seconds for what was freed meanwhile, and stop when all of it is zeroed.',
  height: 230,
  answers: [],
  questions: () => [{ ask: 'bursts' }],
  draw(place) {
    const [test] = this.answers;
    const every = test ? test.every_ns / 1e9 : 2;
    const burst = (n) => [[n * every, 0], [n * every, test.threads], [(n + test.duty) * every, test.threads], [(n + test.duty) * every, 0]];
    drawPlot(place, {
      label: this.title, height: this.height,
      x: { name: 'seconds', low: 0, high: 3 * every }, y: { name: 'CPUs that zero', low: 0, high: 40 },
      series: test ? [{ name: `${test.threads} threads; ${number(test.cpus)} CPUs busy on average`, line: [0, 1, 2].flatMap(burst) }] : [],
    });
  },
  command: () => 'punctual zero simulate --validate Z09',
  table() {
    const [test] = this.answers;
    return table('CPUs that zero', ['threads', 'a burst every', 'busy % of the time', 'CPUs on average'], [[test.threads, time(test.every_ns), number(100 * test.duty), number(test.cpus)]]);
  },
};

/** The rows of all four figures of the accurate-sleep article, which come of one question. */
const figureRows = () => frames.answers[0]?.rows ?? [];

const frames = {
  title: 'Frames of a loop at 60 Hz',
  caption: 'Each mark is a frame, which should take 16.67 ms. The sleep of the system ends too late for each of them.',
  height: 280,
  answers: [],
  questions: () => [{ ask: 'figures' }],
  draw(place) {
    drawPlot(place, {
      label: this.title, height: this.height,
      x: { name: 'frame', low: 0, high: 1000 }, y: { name: 'ms', low: 16, high: 19 },
      series: byWay(figureRows(), 'pace').filter((rows) => rows.length).map(([row]) => ({ name: WAYS[row.subject], marks: row.of.lengths_ns.map((ns, n) => [n, ns / 1e6]) })),
    });
  },
  command() { return this.answers[0].command; },
  table() {
    return table('Frames', ['.way of waiting', 'shortest', 'median', 'longest', 'CPU %'],
      byWay(figureRows(), 'pace').map(([{ subject, cpu, of }]) => [WAYS[subject], ...[Math.min(...of.lengths_ns), middle(of.lengths_ns), largest(of.lengths_ns)].map((ns) => `${(ns / 1e6).toFixed(3)} ms`), number(100 * cpu)]));
  },
};

const decades = {
  title: 'How long a wait takes, by the length asked for',
  caption: 'The median of a hundred waits. On time is the diagonal; the sleep of the system has a floor.',
  height: 280,
  answers: [],
  questions: () => [],
  draw(place) {
    const write = (ns) => time(ns).replace(/\.0+ /, ' ');
    drawPlot(place, {
      label: this.title, height: this.height,
      x: { name: 'asked for', low: 1e3, high: 1e8, log: true, write }, y: { name: 'it took', low: 1e3, high: 2e8, log: true, write },
      series: byWay(figureRows(), 'decades').filter((rows) => rows.length).map((rows) => {
        const points = rows.filter(({ of }) => of.asked_ns >= 1e3 && of.asked_ns <= 1e8).map(({ of }) => [of.asked_ns, of.asked_ns + of.late_ns_p50]);
        return { name: WAYS[rows[0].subject], line: points, marks: points };
      }),
    });
  },
  command() { return frames.command(); },
  table() {
    const all = byWay(figureRows(), 'decades');
    return table('Waits by length', ['asked for', ...Object.values(WAYS)], all[0].map(({ of }, i) => [time(of.asked_ns), ...all.map(({ [i]: { of } }) => time(of.asked_ns + of.late_ns_p50))]));
  },
};

const cpuByInterval = {
  title: 'CPU time of a loop, by its period',
  caption: 'Below some 6 ms preciseSleep and timerSleep spin all the time, as they began with an estimate of 5 ms.',
  height: 280,
  answers: [],
  questions: () => [],
  draw(place) {
    drawPlot(place, {
      label: this.title, height: this.height,
      x: { name: 'period, ms', low: 0, high: 26 }, y: { name: '% of a CPU', low: 0, high: 100 },
      series: byWay(figureRows(), 'interval').filter((rows) => rows.length).map((rows) => ({ name: WAYS[rows[0].subject], line: rows.map(({ of, cpu }) => [of.period_ns / 1e6, 100 * cpu]) })),
    });
  },
  command() { return frames.command(); },
  table() {
    const all = byWay(figureRows(), 'interval');
    return table('CPU by period', ['period', ...Object.values(WAYS).map((way) => `${way}, %`)], all[0].map(({ of }, i) => [time(of.period_ns), ...all.map(({ [i]: { cpu } }) => number(100 * cpu))]));
  },
};

const robustness = {
  title: 'Error of a wait, by its length and the scheduler’s period',
  height: 280,
  answers: [],
  questions: () => [],
  caption: 'On the article’s fake OS, which wakes a thread at any moment of a period. The stronger the colour, the larger the mean distance from the deadline as a share of the length: from 0.001 % to 100 %, by its logarithm.',
  draw(place) {
    const rows = figureRows().filter(({ figure }) => figure === 'robustness');
    const values = (key) => [...new Set(rows.map(({ of }) => of[key] / 1e6))].sort((a, b) => a - b);
    const found = new Map(rows.map(({ subject, of }) => [`${subject} ${of.scheduler_period_ns / 1e6} ${of.asked_ns / 1e6}`, of.error]));
    drawHeat(place, {
      label: this.title, height: this.height, names: rows.length ? Object.keys(WAYS) : [], titles: WAYS,
      columns: values('scheduler_period_ns'), rows: values('asked_ns'),
      value: (way, column, row) => found.get(`${way} ${column} ${row}`) ?? 0, least: 1e-5,
      x: { name: 'scheduler period, ms', of: 'period' }, y: { name: 'Length of the wait, ms,', of: 'wait of' },
    });
  },
  command() { return frames.command(); },
  table() {
    const rows = figureRows().filter(({ figure, of }) => figure === 'robustness' && [1e6, 5e6, 10e6].includes(of.scheduler_period_ns));
    return table('Errors', ['.way of waiting', 'length', 'scheduler period', 'error %'], rows.map(({ subject, of }) => [WAYS[subject], time(of.asked_ns), time(of.scheduler_period_ns), number(100 * of.error)]));
  },
};

/** Programs that work for up to 1 ms and then sleep for 1 ms, again and again. */
const SLEEPERS = [
  { name: 'Windows 10 1909, nothing asked for', on: 'windows-10-1909', first: '' },
  { name: 'Windows 10 1909, 1 ms asked for', on: 'windows-10-1909', first: '{ request = "1ms" }, ' },
  { name: 'macOS, ordinary thread', on: 'macos', first: '' },
  { name: 'macOS, background thread', on: 'macos', first: '{ priority = "background" }, ' },
  { name: 'Linux', on: 'linux', first: '' },
];

const sleepers = {
  title: 'How long a sleep of 1 ms takes on three systems',
  caption: 'A program works for up to 1 ms, then sleeps for 1 ms, for five seconds. The higher a bar, the more sleeps were so long; heights are logarithmic.',
  height: SLEEPERS.length * 62 + 42,
  answers: [],
  questions: () => SLEEPERS.map(({ on, first }) => ({
    ask: 'simulate', scenario: 'sleeper.toml', on: [on], seed: 1,
    text: `title = "Work, then a sleep of 1 ms"\nsource = "none"\non = ["${on}"]\nphase = [{ name = "all", for = "5s" }]\n\n[[process]]\nname = "A"\ndo = [${first}{ loop = [{ work = { uniform = ["0ns", "1ms"] } }, { sleep = "1ms" }] }]\n`,
  })),
  rows() {
    return SLEEPERS.map(({ name }, i) => {
      const row = this.answers[i] && JSON.parse(this.answers[i].run).results.find(({ experiment }) => experiment === 'scenario');
      const values = row?.samples_slept_ns.map((ns) => ns / 1e6);
      return { name, values, note: values && `median ${time(middle(values) * 1e6)}` };
    });
  },
  draw(place) {
    drawStrips(place, { label: this.title, height: this.height, x: { name: 'ms', low: 1, high: 50, log: true, ticks: [1, 2, 5, 10, 20, 50] }, rows: this.rows() });
  },
  table() {
    return table('Sleeps of 1 ms', ['.on', 'sleeps', 'least', 'median', 'most'], this.rows().map(({ name, values }) => [name, values.length, ...[Math.min(...values), middle(values), largest(values)].map((ms) => time(ms * 1e6))]));
  },
};

const PICTURES = { timers: [changeInterval], zeroing: [cpuTime, bursts], sleep: [frames, cpuByInterval, decades, robustness], scheduling: [sleepers] };
