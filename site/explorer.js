// The page: what is asked stands in its address, so that a link says everything.

const at = (id) => document.getElementById(id);
const OWN = 'own';
const EDITED = 'file';
/** Models that have an interval to ask for. */
const hasIntervals = (model) => /^(windows|wine)/.test(model);

/** The simulator in a thread of its own, which is begun anew where a newer question comes first. */
class Simulator {
  #module;
  #worker;
  #waiting = new Map();
  #last = 0;

  async begin() {
    const packed = Uint8Array.from(atob(at('simulator').textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    this.#module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
  }

  /** Forgets what it is busy with. */
  drop() {
    if (!this.#waiting.size) return;
    this.#worker.terminate();
    this.#worker = undefined;
    for (const { fail } of this.#waiting.values()) fail(new Dropped());
    this.#waiting.clear();
  }

  /** The answer; `progress` takes the share of it that is done. */
  ask(question, progress) {
    if (!this.#worker) {
      this.#worker = new Worker(URL.createObjectURL(new Blob([at('worker').textContent], { type: 'text/javascript' })));
      this.#worker.onmessage = ({ data: { id, share, ok, error } }) => {
        const { done, fail, progress } = this.#waiting.get(id);
        if (share !== undefined) return progress?.(share);
        this.#waiting.delete(id);
        if (error === undefined) done(ok);
        else fail(new Error(error));
      };
    }
    const id = (this.#last += 1);
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail, progress });
      this.#worker.postMessage({ module: this.#module, question, id });
    });
  }
}

class Dropped extends Error {}

/** Shows how far the questions of a page are, `part` being `timers` or `zeroing`, and what is wrong with one in place of answers. */
async function working(part, ask) {
  const [status, bar, error, results] = ['status', 'progress', 'error', 'results'].map((name) => document.querySelector(`#${part} .${name}`));
  simulator.drop();
  const begun = performance.now();
  status.textContent = 'Simulating ...';
  bar.value = 0;
  bar.hidden = false;
  error.hidden = true;
  try {
    const said = await ask((share) => { bar.value = share; });
    // Figures are as wide as their place, which they have from here on.
    results.hidden = false;
    said.show();
    status.textContent = `${said.done} in ${time((performance.now() - begun) * 1e6)}.`;
  } catch (why) {
    if (why instanceof Dropped) return;
    status.textContent = '';
    error.textContent = why.message;
    error.hidden = false;
    results.hidden = true;
  }
  bar.hidden = true;
}

const simulator = new Simulator();
let catalogue;
/** The story that the form is filled for. */
let told;
/** The programs of one's own. */
let programs = [];
/** What is shown: lanes, the window, the chosen wake, and how to ask about it. */
let shown;

/* ---- The address ---- */

const STORY = 'lowest-request-wins';
const PAGES = ['articles', 'timers', 'zeroing'];

/** What the address asks for. */
function address() {
  return new URLSearchParams(location.hash.slice(1));
}

/** The page that an address asks for: the articles, unless it names another or a story. */
function pageAsked(asked) {
  const page = asked.get('page') ?? (asked.has('story') ? 'timers' : PAGES[0]);
  return PAGES.includes(page) ? page : PAGES[0];
}

/** Puts what the page shows into its address, without a step back for each. */
function remember() {
  const kept = new URLSearchParams({ page: at('zeroing').hidden ? 'timers' : 'zeroing' });
  if (kept.get('page') === 'zeroing') {
    kept.set('on', at('computer-model').value);
    kept.set('threads', at('threads').value);
    kept.set('batch', batch());
    for (const lock of checked('locks')) kept.append('lock', lock);
    kept.set('seed', at('zero-seed').value);
  } else {
    const story = at('story').value;
    kept.set('story', story);
    for (const model of checked('models')) kept.append('on', model);
    if (story === OWN) for (const { name, sleep, asks, late } of programs) kept.append('program', [name, sleep, asks, late ? 1 : 0].join('~'));
    if (story === EDITED) kept.set('file', at('file').value);
    for (const id of ['seed', 'length', 'parameters']) if (at(id).value && at(id).value !== at(id).defaultValue) kept.set(id, at(id).value);
  }
  history.replaceState(null, '', `#${kept}`);
}

/* ---- The form ---- */

function checked(id) {
  return [...at(id).querySelectorAll('input:checked')].map((input) => input.value);
}

/** Boxes to check, those of `of` checked; each may say what it is. */
function choices(id, values, of, about = () => '') {
  at(id).replaceChildren(...values.map((value) => {
    const box = el('input', { type: 'checkbox', value });
    box.checked = of.includes(value);
    return el('label', { class: 'choice' }, box, ` ${value}`, el('span', { class: 'note' }, about(value)));
  }));
}

const MIN_SLEEP = 0.1;
const NAMES = 'ABC';

/** The rows of one's own programs. */
function showPrograms() {
  at('programs').replaceChildren(...programs.map((program, i) => {
    const slider = (label, attributes, value, set) => {
      const out = el('output', {});
      const input = el('input', { type: 'range', ...attributes });
      input.value = value;
      const show = () => { out.textContent = Number(input.value) ? `${input.value} ms` : 'nothing'; };
      show();
      input.addEventListener('input', () => { set(Number(input.value)); show(); });
      return el('label', {}, `${label}: `, out, input);
    };
    const late = el('input', { type: 'checkbox' });
    late.checked = program.late;
    late.addEventListener('input', () => { program.late = late.checked; });
    const remove = el('button', { type: 'button' }, `Remove ${program.name}`);
    remove.addEventListener('click', () => { programs.splice(i, 1); showPrograms(); simulate(); });
    return el('div', { class: 'program' }, el('b', {}, program.name),
      slider('sleeps again and again for', { min: MIN_SLEEP, max: 30, step: 0.1 }, program.sleep, (ms) => { program.sleep = ms; }),
      slider('interval it asks for', { min: 0, max: 16, step: 0.5 }, program.asks, (ms) => { program.asks = ms; }),
      el('label', {}, late, ' asks in the second half only'),
      ...(programs.length > 1 ? [remove] : []));
  }));
  at('add').disabled = programs.length >= NAMES.length;
}

/** One's own programs as a scenario. */
function ownScenario(asking) {
  const processes = programs.map(({ name, sleep, asks, late }) => {
    const held = `{ request = "${asks}ms" }, { until = "4s" }`;
    const first = late ? `{ until = "second half" }, ${held}` : held;
    const spawned = asking && asks > 0 ? `    { spawn = "${name} asks", as = "thread", do = [${first}] },\n` : '';
    return `[[process]]\nname = "${name}"\ndo = [\n${spawned}    { loop = [{ sleep = "${sleep}ms" }] },\n]\n`;
  });
  return `title = "Programs of one's own"\nsource = "none"\non = ["windows-11"]\n`
    + 'phase = [{ name = "first half", for = "2s" }, { name = "second half", for = "2s" }]\n\n' + processes.join('\n');
}

function story() {
  return catalogue.scenarios.find(({ name }) => name === at('story').value);
}

/** Fills the form as a story or the address has it. */
function fill() {
  const asked = address();
  const page = pageAsked(asked);
  for (const name of PAGES) {
    at(name).hidden = name !== page;
    if (name === page) at(`to-${name}`).setAttribute('aria-current', 'page');
    else at(`to-${name}`).removeAttribute('aria-current');
  }
  if (page !== 'articles') shownArticle = undefined;
  if (page === 'articles') return;
  if (page === 'zeroing') return fillZeroing(asked);
  at('story').value = asked.get('story') ?? STORY;
  if (!at('story').value) at('story').value = STORY;
  for (const id of ['seed', 'length', 'parameters']) at(id).value = asked.get(id) ?? at(id).defaultValue;
  if (asked.has('program')) {
    programs = asked.getAll('program').slice(0, NAMES.length).map((text, i) => {
      const [, sleep, asks, late] = text.split('~');
      const within = (value, low, high, usual) => (Number(value) >= low && Number(value) <= high ? Number(value) : usual);
      return { name: NAMES[i], sleep: within(sleep, MIN_SLEEP, 30, 1), asks: within(asks, 0, 16, 0), late: late === '1' };
    });
  }
  if (asked.has('file')) at('file').value = asked.get('file');
  tellStory(asked.getAll('on'));
}

/** Shows what belongs to the story that is chosen. */
function tellStory(on) {
  const shipped = story();
  const name = at('story').value;
  told = name;
  const usual = shipped?.on ?? ['windows-10-1909', 'windows-11', 'linux'];
  const models = [...new Set([...catalogue.models.map((model) => model.name), ...usual, ...on])];
  choices('models', models, on.length ? on : usual);
  at('about').textContent = shipped ? [shipped.about, shipped.source && `(${shipped.source})`].filter(Boolean).join(' ')
    : name === OWN ? 'Each program sleeps in a loop.' : 'The scenario is the text below. crates/lab/scenarios/README.md explains how to write one.';
  at('programs-field').hidden = name !== OWN;
  showPrograms();
  if (shipped) at('file').value = shipped.text;
  if (name === OWN) at('file').value = ownScenario(true);
  // A scenario of one's own begins with something that runs.
  if (name === EDITED) at('file').value ||= ownScenario(false);
  at('file').closest('details').open ||= name === EDITED;
}

/** Another story is chosen. A scenario of one's own begins with that of the story before, on the models that know its requests. */
function change(before) {
  if (at('story').value !== EDITED) return tellStory([]);
  const on = checked('models');
  const asking = on.filter(hasIntervals);
  if (before === OWN) at('file').value = ownScenario(asking.length > 0);
  tellStory(before === OWN && asking.length ? asking : on);
  at('file').focus();
}

/* ---- Timers ---- */

/** What to ask: a question for all models, or one for those with intervals and one for the others. */
function questions() {
  const parameters = at('parameters').value.trim();
  const on = checked('models').map((model) => (parameters ? `${model},${parameters}` : model));
  if (!on.length) throw new Error('Choose a system to simulate.');
  const common = { seed: Number(at('seed').value), length: at('length').value.trim() || null };
  const name = at('story').value;
  if (name === OWN) {
    const groups = [on.filter(hasIntervals), on.filter((model) => !hasIntervals(model))];
    return groups.flatMap((on, i) => (on.length ? [{ scenario: i ? 'mine-without-requests.toml' : 'mine.toml', text: ownScenario(!i), on, ...common }] : []));
  }
  if (name === EDITED) return [{ scenario: 'mine.toml', text: at('file').value, on, ...common }];
  return [{ scenario: name, on, ...common }];
}

async function simulate() {
  if (at('story').value === OWN) at('file').value = ownScenario(true);
  remember();
  await working('timers', async (progress) => {
    const asked = questions();
    const answers = [];
    for (const question of asked) {
      const part = (share) => progress((answers.length + share) / asked.length);
      answers.push(await simulator.ask({ ask: 'simulate', ...question }, part));
    }
    const runs = answers.map(({ run }) => JSON.parse(run));
    const models = runs.reduce((count, run) => count + run.models.length, 0);
    return {
      show: () => show(asked, answers, runs),
      done: `${models} simulated computer${models > 1 ? 's' : ''}, ${time(runs[0].scenario.length_ns)} of virtual time each,`,
    };
  });
}

/** Threads of one name on one model, with all their sleeps in order. */
function lanesOf(runs) {
  const lanes = new Map();
  runs.forEach((run, question) => {
    for (const row of run.results) {
      if (row.experiment !== 'scenario' || !row.wakes) continue;
      const key = `${row.subject}\n${row.on}`;
      if (!lanes.has(key)) lanes.set(key, { thread: row.subject, on: row.on, label: `${row.subject} on ${row.on}`, question, sleeps: [] });
      const { sleeps } = lanes.get(key);
      const add = (slept, woke, asked) => sleeps.push({ slept, woke, began: woke - slept, asked });
      row.samples_slept_ns.forEach((slept, i) => add(slept, row.samples_woke_ns[i], row.samples_asked_ns?.[i] ?? slept - row.samples_late_ns[i]));
      // Those during which the phase began are in none of its lengths, and are sleeps all the same.
      for (const { slept_ns, woke_ns, asked_ns } of row.began_before ?? []) add(slept_ns, woke_ns, asked_ns);
    }
  });
  const all = [...lanes.values()];
  const models = [...new Set(all.map(({ on }) => on))];
  for (const lane of all) {
    lane.colour = COLOURS[models.indexOf(lane.on) % COLOURS.length];
    lane.sleeps.sort((a, b) => a.woke - b.woke);
  }
  return all;
}

function show(asked, answers, runs) {
  const lanes = lanesOf(runs);
  shown = { lanes, asked, runs, selected: undefined, length: runs[0].scenario.length_ns };
  const rows = runs.flatMap((run) => run.results);
  const sleeps = rows.filter((row) => row.experiment === 'scenario' && row.slept_ns?.n > 0);
  const about = (run) => (runs.length > 1 ? `On ${run.models.map(({ name }) => name).join(', ')}: ` : '');
  // On what a model rests names the model itself.
  const evidence = new Set(runs.flatMap((run) => run.machine.evidence ?? []));
  const said = answers.flatMap(({ answer }, i) => answer.filter((sentence) => !evidence.has(sentence)).map((sentence) => about(runs[i]) + sentence));
  const sentences = [...said, ...evidence].map((sentence) => el('p', {}, sentence));
  at('verdict').replaceChildren(...sentences);
  at('wakes').replaceChildren(folded('What each program gets, phase by phase', table('Wakes', ['.on', '.program', '.phase', 'wakes/s', 'asked', 'it took p50', 'at most', 'CPU %'],
    sleeps.map((row) => {
      const { min, max } = row.asked_ns ?? {};
      const asks = min === max ? time(min) : `${time(min)} to ${time(max)}`;
      return [row.on, row.subject, row.phase, number(row.wakes_per_s), asks, time(row.slept_ns.p50), time(row.slept_ns.max), number(100 * row.cpu.fraction, 2)];
    }))));
  const computers = rows.filter((row) => row.experiment === 'scenario-computer');
  at('computer').replaceChildren(folded('Phase by phase', table('The computer', ['.on', '.phase', 'interrupts/s', 'wake-ups/s', 'busy %', 'timer interval at end'],
    computers.map((row) => [row.on, row.phase, number(row.interrupts_per_s), number(row.wakeups_per_s), number(100 * row.busy, 2), row.interval_ns ? `${row.interval_ns / 1e6} ms` : 'none']))));
  const expected = runs.flatMap((run) => run.expectations ?? []);
  at('expected').replaceChildren(...(expected.length ? [el('h2', {}, `What the sources say: ${expected.filter((e) => e.holds).length} of ${expected.length} come out so`),
    folded('Figure by figure', table('Expectations', ['.', '.on', '.program', '.phase', '.figure', 'expected', 'here', '.source'],
      expected.map((e) => [e.holds ? (e.stated ? 'ok' : 'same') : 'differs', e.on, e.subject, e.phase ?? '', e.figure, e.expected, e.got, e.source ?? ''])))] : []));
  at('command').textContent = answers.map(({ command }) => command).join('\n');
  at('text').textContent = answers.map(({ text }) => text).join('\n\n');
  at('save').onclick = () => answers.forEach(({ run }) => save(run));
  // The first change is what a story is about.
  const phases = runs[0].scenario.phases;
  const wide = Number(at('window').value) * 1e6;
  const first = phases.length > 1 ? phases[0].length_ns - wide / 2 : 0;
  at('from').value = shown.length > wide ? Math.round((1000 * Math.max(first, 0)) / (shown.length - wide)) : 0;
  at('why').textContent = '';
  drawPhases();
  draw();
}

/** More rows than this are folded away, below a picture. */
const MANY_ROWS = 12;

function folded(name, whole) {
  if (whole.querySelectorAll('tbody tr').length <= MANY_ROWS) return whole;
  return el('details', {}, el('summary', {}, name), whole);
}

/** Draws the sleeps by phase if phases are numbered, as those of change-interval are. */
function drawPhases() {
  if (!shown || at('timers').hidden) return;
  const series = shown.runs.flatMap(sleepsByNumber);
  at('by-phase').hidden = !series.length;
  if (!series.length) return;
  // `7 ms asked` is 7 on an axis of `ms asked`.
  const x = shown.runs[0].scenario.phases[0].name.replace(/^[\d.]+ */, '') || 'phase';
  drawByNumber(at('phases'), series, { label: 'Sleeps by phase', height: 340, x, y: 'ms that a sleep takes' });
}

function draw() {
  if (!shown || at('timers').hidden) return;
  const { lanes, length, selected } = shown;
  const wide = Math.min(Number(at('window').value) * 1e6, length);
  const from = (Number(at('from').value) / 1000) * (length - wide);
  if (!lanes.length) {
    at('timeline').replaceChildren(el('p', { class: 'note' }, 'Nobody sleeps in this scenario.'));
    at('histogram').replaceChildren();
    return;
  }
  const few = lanes.slice(0, 12);
  const drawing = drawTimeline(at('timeline'), few, [from, from + wide], selected, choose);
  drawing.setAttribute('tabindex', '0');
  drawing.addEventListener('keydown', (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    walk(few, [from, from + wide], step);
  });
  if (lanes.length > few.length) at('timeline').append(el('p', { class: 'note' }, `The first ${few.length} of ${lanes.length}; the tables have all.`));
  drawHistogram(at('histogram'), few);
}

/** To the next wake of a lane, or to another lane. */
function walk(lanes, [from, to], [down, right]) {
  const { selected } = shown;
  const lane = selected ? Math.min(Math.max(selected.lane + down, 0), lanes.length - 1) : 0;
  const { sleeps } = lanes[lane];
  const near = selected && down ? lanes[selected.lane].sleeps[selected.sleep].woke : from;
  let sleep = selected && !down ? selected.sleep + right : sleeps.findIndex(({ woke }) => woke >= near);
  sleep = Math.min(Math.max(sleep, 0), sleeps.length - 1);
  const { woke } = sleeps[sleep];
  if (woke < from || woke > to) {
    const wide = to - from;
    at('from').value = Math.round((1000 * Math.max(woke - wide / 2, 0)) / Math.max(shown.length - wide, 1));
  }
  choose({ lane, sleep });
  at('timeline').querySelector('svg').focus();
}

async function choose(selected) {
  shown.selected = selected;
  draw();
  const { asked, lanes } = shown;
  const { thread, on, question, sleeps } = lanes[selected.lane];
  const { began, slept } = sleeps[selected.sleep];
  at('why').textContent = '...';
  try {
    const why = await simulator.ask({ ask: 'explain', ...asked[question], on: [on], wake: `${thread}@${Math.max(began, 0)}ns` });
    if (shown.selected === selected) at('why').textContent = `It took ${time(slept)}. ${why}`;
  } catch (why) {
    if (!(why instanceof Dropped)) at('why').textContent = why.message;
  }
}

function save(run) {
  const link = el('a', { href: URL.createObjectURL(new Blob([run], { type: 'application/json' })), download: 'run.json' });
  link.click();
  URL.revokeObjectURL(link.href);
}

/* ---- Zeroing ---- */

const BATCHES = ['1', '2', '8', '64', '512', 'n', '2n', 'half', 'guided'];
const BATCH_WORDS = { n: 'as many as there are threads', '2n': 'twice as many as there are threads', half: 'half of what is left', guided: 'its share of what is left' };
const MIB = 16;
let zeroed;

function batch() {
  return BATCHES[at('batch').value];
}

function fillZeroing(asked) {
  if (asked.has('on')) chooseComputer(asked.get('on'));
  const { cpus } = computer();
  at('threads').max = cpus;
  at('threads').value = asked.get('threads') ?? cpus;
  at('batch').value = Math.max(BATCHES.indexOf(asked.get('batch')), 0);
  at('zero-seed').value = asked.get('seed') ?? 1;
  choices('locks', catalogue.locks.map(({ name }) => name), asked.has('lock') ? asked.getAll('lock') : ['tas', 'mcs'], (lock) => `: ${catalogue.locks.find(({ name }) => name === lock).about}`);
  nameSliders();
}

/** Chooses a computer, which may have figures of its own after commas. */
function chooseComputer(on) {
  const known = catalogue.computers.find(({ name }) => name === on.split(',')[0]);
  if (!known) return;
  const options = [...at('computer-model').options];
  if (options.every(({ value }) => value !== on)) at('computer-model').append(el('option', { value: on }, `${on}: ${known.what}`));
  at('computer-model').value = on;
}

function computer() {
  return catalogue.computers.find(({ name }) => name === at('computer-model').value.split(',')[0]);
}

function nameSliders() {
  at('threads-shown').textContent = at('threads').value;
  at('batch-shown').textContent = BATCH_WORDS[batch()] ?? batch();
}

/** 1, 4, 16 and so on, and the most: those in between take long and show little. */
function counts(most) {
  const all = [];
  for (let n = 1; n < most; n *= 4) all.push(n);
  return [...all, most];
}

async function zero() {
  nameSliders();
  remember();
  await working('zeroing', async (progress) => {
    const locks = checked('locks');
    if (!locks.length) throw new Error('Choose a lock.');
    const question = { on: at('computer-model').value, threads: counts(Number(at('threads').value)), locks, batches: [batch()], mib: MIB, seed: Number(at('zero-seed').value) };
    const answer = await simulator.ask({ ask: 'pools', ...question }, progress);
    zeroed = { answer, rows: JSON.parse(answer.run).results };
    return { show: showZeroing, done: `${zeroed.rows.length} pools, ${MIB} MiB each,` };
  });
}

function showZeroing() {
  if (!zeroed || at('zeroing').hidden) return;
  const { answer, rows } = zeroed;
  const locks = [...new Set(rows.map((row) => row.subject))];
  const lines = (figure) => locks.map((name, i) => ({
    name, colour: COLOURS[i % COLOURS.length],
    points: rows.filter((row) => row.subject === name).map((row) => ({ threads: row.threads, ...row.zero[figure] })),
  }));
  const last = Math.max(...rows.map((row) => row.threads));
  const many = rows.filter((row) => row.threads === last).sort((a, b) => b.zero.gb_per_cpu_s.median - a.zero.gb_per_cpu_s.median);
  const of = (row) => rows.find((other) => other.subject === row.subject && other.threads === 1);
  at('zero-verdict').replaceChildren(...many.map((row) => el('p', {}, last === 1
    ? `${row.subject}: one thread zeroes ${number(row.zero.gb_per_cpu_s.median)} GB per second of CPU time.`
    : `${row.subject}: ${last} threads take ${number(of(row).zero.gb_per_cpu_s.median / row.zero.gb_per_cpu_s.median)} times the CPU time of one for the same memory; ${number(100 * row.zero.cpu.zeroing)} % of it is zeroing, ${number(100 * row.zero.cpu.waiting)} % waiting for the lock.`)));
  drawLines(at('per-cpu'), lines('gb_per_cpu_s'), 'GB per second of CPU time');
  drawLines(at('per-wall'), lines('wall_gb_per_s'), 'GB per second');
  at('split').replaceChildren(table('CPU time', ['.lock', 'threads', 'zeroing %', 'holding the lock %', 'waiting for it %', 'GB per CPU-s', 'GB/s'],
    rows.map((row) => [row.subject, row.threads, ...['zeroing', 'hold', 'waiting'].map((part) => number(100 * row.zero.cpu[part])), number(row.zero.gb_per_cpu_s.median), number(row.zero.wall_gb_per_s.median)])));
  at('zero-command').textContent = answer.command;
  at('zero-text').textContent = answer.text;
  at('zero-save').onclick = () => save(answer.run);
}

/* ---- What starts it ---- */

function started() {
  fill();
  if (!at('articles').hidden) return tellArticles();
  return at('zeroing').hidden ? simulate() : zero();
}

async function begin() {
  try {
    await simulator.begin();
    catalogue = await simulator.ask({ ask: 'catalogue' });
  } catch (why) {
    at('articles').hidden = false;
    at('article-error').textContent = `This browser cannot run the simulator: ${why.message}`;
    at('article-error').hidden = false;
    return;
  }
  at('story').replaceChildren(
    ...catalogue.scenarios.map(({ name, title }) => el('option', { value: name }, title)),
    el('option', { value: OWN }, 'Programs of my own'),
    el('option', { value: EDITED }, 'A scenario of my own'));
  at('computer-model').replaceChildren(...catalogue.computers.map(({ name, what }) => el('option', { value: name }, `${name}: ${what}`)));
  at('computer-model').value = 'cascade-lake-96';
  at('batch').max = BATCHES.length - 1;
  programs = [{ name: 'A', sleep: 1, asks: 0, late: false }, { name: 'B', sleep: 10, asks: 2, late: true }];

  at('timers').querySelector('form').addEventListener('input', ({ target }) => {
    if (target === at('file') && at('story').value !== EDITED) {
      at('story').value = EDITED;
      tellStory(checked('models'));
    }
    if (target === at('story')) change(told);
    simulate();
  });
  at('add').addEventListener('click', () => {
    const name = [...NAMES].find((name) => programs.every((program) => program.name !== name));
    programs.push({ name, sleep: 5, asks: 0, late: false });
    showPrograms();
    simulate();
  });
  for (const id of ['from', 'window']) at(id).addEventListener('input', draw);
  at('zeroing').querySelector('form').addEventListener('input', ({ target }) => {
    if (target === at('computer-model')) {
      at('threads').max = computer().cpus;
      at('threads').value = computer().cpus;
    }
    zero();
  });
  for (const form of document.forms) form.addEventListener('submit', (event) => event.preventDefault());
  addEventListener('hashchange', started);
  addEventListener('resize', () => { drawPhases(); draw(); showZeroing(); drawPictures(); });
  await started();
}

begin();
