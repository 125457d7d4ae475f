// What is drawn: SVG made element by element, so that no text is ever read as markup.
'use strict';

const COLOURS = ['--a', '--b', '--c', '--d', '--e', '--f'].map((name) => `var(${name})`);

function svg(name, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** A length of time in three digits: 15.6 ms. */
function time(ns) {
  if (ns === null || ns === undefined) return '-';
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['us', 1e3]].find(([, size]) => Math.abs(ns) >= size) ?? ['ns', 1];
  return `${(ns / size).toPrecision(3).replace(/e\+.*/, '')} ${unit}`;
}

function number(value, digits = 3) {
  if (value === null || value === undefined) return '-';
  return Math.abs(value) >= 1000 ? Math.round(value).toString() : Number(value.toPrecision(digits)).toString();
}

/** The largest of any number of numbers. */
const largest = (numbers) => numbers.reduce((most, value) => Math.max(most, value), 0);

/** Round steps, about `count` of them, from `low` to `high`. */
function steps(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= raw);
  const all = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) all.push(at);
  return all;
}

/** Rows under heads; a head that starts with a dot has words below it, not numbers. */
function table(caption, heads, rows) {
  const kind = heads.map((head) => (head.startsWith('.') ? { class: 'word' } : {}));
  const head = el('tr', {}, ...heads.map((text, i) => el('th', { scope: 'col', ...kind[i] }, text.replace('.', ''))));
  const body = rows.map((row) => el('tr', {}, ...row.map((cell, i) => el('td', { ...kind[i], 'data-head': heads[i].replace('.', '') }, String(cell)))));
  const whole = el('table', { 'aria-label': caption }, el('thead', {}, head), el('tbody', {}, ...body));
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption }, whole);
}

const ruler = document.createElement('canvas').getContext('2d');

/** Text of a drawing in lines of at most so many pixels, broken after commas and spaces. */
function lines(text, width) {
  ruler.font = '12px system-ui, sans-serif';
  const all = [''];
  for (const part of text.match(/[^ ,]{0,24}[ ,]?/g)) {
    if (all.at(-1) && ruler.measureText(all.at(-1) + part).width > width) all.push('');
    all.push(all.pop() + part);
  }
  return all;
}

/** Writes them, each below the one before. */
function write(drawing, texts, x, y) {
  texts.forEach((text, i) => drawing.append(svg('text', { x, y: y + i * LINE }, text)));
}

/** From one line of text to the next. */
const LINE = 14;

const widthOf = (place) => Math.max(300, Math.round(place.clientWidth || 800));

/** A drawing as wide as its place, in units of a pixel. */
function canvas(place, height, label) {
  const width = widthOf(place);
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
  place.replaceChildren(drawing);
  return [drawing, width];
}

function bottomAxis(drawing, [left, right, bottom], [low, high], unit, position) {
  drawing.append(svg('path', { class: 'axis', d: `M${left} ${bottom}H${right}` }));
  for (const at of steps(low, high, Math.max(2, (right - left) / 90))) {
    const x = position(at);
    drawing.append(svg('path', { class: 'axis', d: `M${x} ${bottom}v5` }));
    // The outermost stay within the drawing.
    const anchor = x > right - 20 ? 'end' : x < left + 10 ? 'start' : 'middle';
    drawing.append(svg('text', { x, y: bottom + 18, 'text-anchor': anchor }, Number(at.toPrecision(6)).toString()));
  }
  drawing.append(svg('text', { class: 'faint', x: right, y: bottom + 34, 'text-anchor': 'end' }, unit));
}

/**
 * When each thread wakes: a lane each, in it a bar per sleep that is dark as long as asked and
 * light beyond. `chosen` is told of the one that is clicked.
 */
function drawTimeline(place, lanes, [from, to], selected, chosen) {
  const left = 8;
  const names = lanes.map(({ label }) => lines(label, widthOf(place) - 2 * left));
  let height = 0;
  const tops = names.map((name) => {
    const top = height;
    height += 20 + name.length * LINE;
    return top;
  });
  const [drawing, width] = canvas(place, height + 52, `Sleeps from ${time(from)} to ${time(to)}`);
  const x = (ns) => left + ((ns - from) / (to - from)) * (width - 2 * left);
  lanes.forEach(({ colour, sleeps }, i) => {
    write(drawing, names[i], left, tops[i] + 13);
    const y = tops[i] + 2 + names[i].length * LINE;
    let drawn = -1;
    sleeps.forEach((sleep, n) => {
      if (sleep.woke < from || sleep.began > to) return;
      const [begin, end] = [Math.max(x(sleep.began), left), Math.min(x(sleep.woke), width - left)];
      // Of those that end in one pixel, one is seen.
      if (end - drawn < 1) return;
      drawn = end;
      const asked = Math.min(Math.max(x(sleep.began + sleep.asked), left), end);
      const isChosen = selected && selected.lane === i && selected.sleep === n;
      const bar = svg('g', { 'data-wake': `${i}:${n}`, cursor: 'pointer' },
        svg('rect', { x: begin, y, width: Math.max(end - begin, 1), height: 12, fill: colour, opacity: 0.35, ...(isChosen ? { class: 'chosen' } : {}) }),
        svg('rect', { x: begin, y, width: Math.max(asked - begin, 1), height: 12, fill: colour }));
      if (sleep.woke <= to) bar.append(svg('path', { d: `M${end} ${y - 1}v14`, stroke: 'var(--ink)', 'stroke-width': 1.5 }));
      bar.append(svg('title', {}, `asked ${time(sleep.asked)}, slept ${time(sleep.slept)}, woke at ${(sleep.woke / 1e6).toFixed(3)} ms`));
      bar.addEventListener('click', () => chosen({ lane: i, sleep: n }));
      drawing.append(bar);
    });
  });
  bottomAxis(drawing, [left, width - left, height + 14], [from / 1e6, to / 1e6], 'ms since the beginning', (ms) => x(ms * 1e6));
  return drawing;
}

/** How often sleeps were how long, a panel for each lane; a logarithmic height shows what is rare. */
function drawHistogram(place, lanes) {
  const most = largest(lanes.map(({ sleeps }) => largest(sleeps.map(({ slept }) => slept)))) * 1.04;
  const panel = 70;
  const [left, right] = [8, widthOf(place) - 8];
  const names = lanes.map(({ label, sleeps }) => lines(`${label} (n = ${sleeps.length})`, right - left));
  let height = 0;
  const bases = names.map((name) => { height += panel + name.length * LINE; return height - 8; });
  const [drawing] = canvas(place, height + 40, 'Lengths of sleeps');
  const bins = Math.min(160, Math.round((right - left) / 5));
  const x = (ns) => left + (ns / most) * (right - left);
  lanes.forEach(({ colour, sleeps }, i) => {
    const base = bases[i];
    const counts = new Array(bins).fill(0);
    for (const { slept } of sleeps) counts[Math.min(bins - 1, Math.floor((slept / most) * bins))] += 1;
    const highest = Math.log1p(largest(counts));
    counts.forEach((count, n) => {
      if (!count) return;
      const tall = Math.max(2, (Math.log1p(count) / highest) * (panel - 20));
      const bar = svg('rect', { x: x((n / bins) * most), y: base - tall, width: Math.max(1, (right - left) / bins - 1), height: tall, fill: colour });
      bar.append(svg('title', {}, `${count} of ${sleeps.length}: ${time((n / bins) * most)} to ${time(((n + 1) / bins) * most)}`));
      drawing.append(bar);
    });
    drawing.append(svg('path', { class: 'axis', d: `M${left} ${base}H${right}` }));
    write(drawing, names[i], left, base - panel - names[i].length * LINE + 20);
  });
  bottomAxis(drawing, [left, right, height - 4], [0, most / 1e6], 'ms that a sleep took; heights are logarithmic', (ms) => x(ms * 1e6));
}

/** Lines over the number of threads, with what is not known of the computer as their width. */
function drawLines(place, lines, label) {
  const height = 300;
  const [drawing, width] = canvas(place, height, label);
  const [left, right, top, bottom] = [48, width - 12, 12, height - 44];
  const threads = [...new Set(lines.flatMap(({ points }) => points.map((point) => point.threads)))].sort((a, b) => a - b);
  const all = lines.flatMap(({ points }) => points.map((point) => Math.log10(point.median)));
  const [low, high] = [Math.min(...all) - 0.2, Math.max(...all) + 0.3];
  const last = Math.log2(threads.at(-1)) || 1;
  const x = (n) => left + (Math.log2(n) / last) * (right - left);
  const y = (gb) => bottom - ((Math.min(Math.max(Math.log10(gb), low), high) - low) / (high - low)) * (bottom - top);
  const decades = Array.from({ length: Math.floor(high) - Math.floor(low) + 1 }, (_, n) => Math.floor(low) + n);
  const ticks = decades.flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));
  for (const gb of ticks.filter((gb) => Math.log10(gb) >= low && Math.log10(gb) <= high)) {
    // Of many decades, their beginnings.
    if (decades.length > 3 && !decades.includes(Math.log10(gb))) continue;
    drawing.append(svg('path', { class: 'axis', d: `M${left} ${y(gb)}H${right}` }));
    drawing.append(svg('text', { x: left - 6, y: y(gb) + 4, 'text-anchor': 'end' }, Number(gb.toPrecision(3)).toString()));
  }
  let free = -Infinity;
  for (const n of threads) {
    if (x(n) - free < 24) continue;
    free = x(n);
    drawing.append(svg('text', { x: x(n), y: bottom + 17, 'text-anchor': 'middle' }, String(n)));
  }
  drawing.append(svg('text', { class: 'faint', x: right, y: bottom + 36, 'text-anchor': 'end' }, 'threads'));
  drawing.append(svg('text', { class: 'faint', x: left, y: bottom + 36 }, label));
  const dashes = ['', '7 3', '2 3', '9 3 2 3', '1 2', '12 4'];
  lines.forEach(({ name, colour, points }, i) => {
    const path = points.map((point, n) => `${n ? 'L' : 'M'}${x(point.threads)} ${y(point.median)}`).join('');
    const band = [...points.map((p) => `${x(p.threads)} ${y(p.high)}`), ...points.map((p) => `${x(p.threads)} ${y(p.low)}`).reverse()];
    drawing.append(svg('path', { d: `M${band.join('L')}Z`, fill: colour, opacity: 0.12 }));
    drawing.append(svg('path', { d: path, fill: 'none', stroke: colour, 'stroke-width': 2.5, 'stroke-dasharray': dashes[i] }));
    for (const point of points) {
      const dot = svg('circle', { cx: x(point.threads), cy: y(point.median), r: 4, fill: colour });
      dot.append(svg('title', {}, `${name}, ${point.threads} threads: ${number(point.median)} GB [${number(point.low)}..${number(point.high)}]`));
      drawing.append(dot);
    }
    const at = left + 12 + i * Math.min(130, (right - left) / lines.length);
    drawing.append(svg('path', { d: `M${at} ${top + 4}h22`, stroke: colour, 'stroke-width': 2.5, 'stroke-dasharray': dashes[i] }));
    drawing.append(svg('text', { x: at + 28, y: top + 8 }, name));
  });
}

/* ---- The charts of the articles ---- */

const MARKS = [
  (x, y) => `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`,
  (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
  (x, y) => `M${x} ${y - 4}l4 7h-8z`,
  (x, y) => `M${x} ${y - 4}l4 4l-4 4l-4 -4z`,
];
const DASHES = ['', '7 3', '2 3', '9 3 2 3'];

/** Numbers from `low` to `high` that an axis names: round steps, or powers of ten. */
function ticksOf({ low, high, log }, room) {
  if (!log) return steps(low, high, Math.max(2, room)).map((at) => Number(at.toPrecision(6)));
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const every = Math.ceil((last - first + 1) / Math.max(2, room));
  const powers = [];
  for (let power = first; power <= last; power += every) powers.push(10 ** power);
  return powers;
}

function scale({ low, high, log }, from, to) {
  const of = log ? Math.log10 : (value) => value;
  return (value) => from + ((of(Math.min(Math.max(value, low), high)) - of(low)) / (of(high) - of(low))) * (to - from);
}

/** Names beside samples of their colours, in as many lines as they need; the height of all. */
function legendOf(drawing, entries, [left, right], sample) {
  let [x, y] = [left, 10];
  entries.forEach((name, i) => {
    const parts = lines(name, right - left - 26);
    const wide = 42 + ruler.measureText(parts[0]).width;
    if (x > left && (parts.length > 1 || x + wide > right)) [x, y] = [left, y + 18];
    drawing.append(...sample(i, x, y));
    write(drawing, parts, x + 26, y + 4);
    y += (parts.length - 1) * LINE;
    x = parts.length > 1 ? right : x + wide;
  });
  return y + 14;
}

/** Two axes with their names, and what turns values into places. */
function axes(drawing, [left, right, top, bottom], x, y) {
  const [atX, atY] = [scale(x, left, right), scale(y, bottom, top)];
  for (const value of ticksOf(y, (bottom - top) / 40)) {
    drawing.append(svg('path', { class: 'axis', d: `M${left} ${atY(value)}H${right}` }),
      svg('text', { x: left - 6, y: atY(value) + 4, 'text-anchor': 'end' }, y.write?.(value) ?? String(value)));
  }
  drawing.append(svg('path', { class: 'axis', d: `M${left} ${bottom}H${right}` }));
  for (const value of ticksOf(x, (right - left) / 64)) {
    const anchor = atX(value) > right - 12 ? 'end' : 'middle';
    drawing.append(svg('path', { class: 'axis', d: `M${atX(value)} ${bottom}v5` }),
      svg('text', { x: anchor === 'end' ? right + 12 : atX(value), y: bottom + 18, 'text-anchor': anchor }, x.write?.(value) ?? String(value)));
  }
  drawing.append(svg('text', { class: 'faint', x: right, y: bottom + 35, 'text-anchor': 'end' }, x.name));
  return [atX, atY];
}

/** Series between two axes: of each the points that a `line` goes through, and those that have `marks`. */
function drawPlot(place, { label, height, x, y, series }) {
  const [drawing, width] = canvas(place, height, label);
  const [left, right] = [46, width - 14];
  const under = legendOf(drawing, series.map(({ name }) => name), [8, right], (i, x, y) => [
    ...(series[i].line ? [svg('path', { d: `M${x} ${y}h20`, stroke: COLOURS[i], 'stroke-width': 2, 'stroke-dasharray': DASHES[i % 4] })] : []),
    ...(series[i].marks ? [svg('path', { d: MARKS[i % 4](x + 10, y), fill: COLOURS[i] })] : []),
  ]);
  drawing.append(svg('text', { class: 'faint', x: 8, y: under + 12 }, y.name));
  const [atX, atY] = axes(drawing, [left, right, under + 24, height - 42], x, y);
  series.forEach(({ line, marks }, i) => {
    const path = (line ?? []).map(([x, y], n) => `${n ? 'L' : 'M'}${atX(x).toFixed(1)} ${atY(y).toFixed(1)}`).join('');
    if (path) drawing.append(svg('path', { class: 'series', d: path, fill: 'none', stroke: COLOURS[i], 'stroke-width': 2, 'stroke-dasharray': DASHES[i % 4] }));
    // One mark stands for all at the same place.
    const places = new Set((marks ?? []).map(([x, y]) => MARKS[i % 4](Math.round(atX(x)), Math.round(atY(y)))));
    if (places.size) drawing.append(svg('path', { class: 'series', d: [...places].join(''), fill: COLOURS[i], 'fill-opacity': 0.7 }));
  });
}

/** A bar for each row, of parts that have the colours of the legend; those without parts are still to come. */
function drawBars(place, { label, height, parts, rows, unit }) {
  const [drawing, width] = canvas(place, height, label);
  const [left, right] = [8, width - 8];
  const top = legendOf(drawing, parts, [left, right], (i, x, y) => [svg('rect', { x, y: y - 6, width: 20, height: 12, fill: COLOURS[i] })]);
  const most = largest(rows.map(({ values }) => (values ?? []).reduce((sum, value) => sum + value, 0))) * 1.02 || 1;
  const [bottom, x] = [height - 42, (value) => left + (value / most) * (right - left)];
  const high = (bottom - top) / rows.length;
  rows.forEach(({ name, values, note }, n) => {
    const y = top + n * high;
    drawing.append(svg('text', { x: left, y: y + 12 }, name));
    if (!values) return;
    drawing.append(svg('text', { class: 'faint', x: right, y: y + 12, 'text-anchor': 'end' }, note));
    let from = 0;
    values.forEach((value, i) => {
      drawing.append(svg('rect', { x: x(from), y: y + 17, width: Math.max(x(from + value) - x(from), 0.5), height: high - 23, fill: COLOURS[i] }));
      from += value;
    });
  });
  bottomAxis(drawing, [left, right, bottom], [0, most], unit, x);
}

/** How often lengths came, a strip for each row, on one logarithmic axis; rows without lengths are still to come. */
function drawStrips(place, { label, height, x, rows }) {
  const [drawing, width] = canvas(place, height, label);
  const [left, right, bottom] = [8, width - 14, height - 42];
  const at = scale(x, left, right);
  const high = bottom / rows.length;
  for (const value of x.ticks) {
    drawing.append(svg('path', { class: 'axis', d: `M${at(value)} 0V${bottom + 5}` }), svg('text', { x: at(value), y: bottom + 18, 'text-anchor': value === x.low ? 'start' : 'middle' }, String(value)));
  }
  drawing.append(svg('text', { class: 'faint', x: right, y: bottom + 35, 'text-anchor': 'end' }, x.name));
  rows.forEach(({ name, values, note }, n) => {
    const y = n * high;
    drawing.append(svg('text', { class: 'over', x: left, y: y + 16 }, name));
    drawing.append(svg('path', { class: 'axis', d: `M${left} ${y + high - 4}H${right}` }));
    if (!values) return;
    drawing.append(svg('text', { class: 'over faint', x: right, y: y + 16, 'text-anchor': 'end' }, note));
    const bins = new Map();
    for (const value of values) {
      const bin = Math.round(at(value) / 3) * 3;
      bins.set(bin, (bins.get(bin) ?? 0) + 1);
    }
    const most = Math.log1p(largest([...bins.values()]));
    for (const [bin, count] of bins) {
      const tall = Math.max(2, (Math.log1p(count) / most) * (high - 28));
      drawing.append(svg('rect', { x: bin - 1, y: y + high - 4 - tall, width: 3, height: tall, fill: COLOURS[n % COLOURS.length] }));
    }
  });
}

/** Squares whose colour is the stronger the larger their value is, from `least` to 1 by the logarithm; a panel for each name. */
function drawHeat(place, { label, height, names, titles, columns, rows, value, least, x, y }) {
  const [drawing, width] = canvas(place, height, label);
  const strength = (value) => Math.min(1, Math.max(0, 1 - Math.log10(Math.max(value, least)) / Math.log10(least)));
  const across = width < 520 ? 2 : names.length;
  const [left, top, gap] = [34, 20, 8];
  const wide = (width - left - 8) / across;
  const high = (height - 26) / Math.ceil(names.length / across);
  names.forEach((name, n) => {
    const [x0, y0] = [left + (n % across) * wide, Math.floor(n / across) * high];
    drawing.append(svg('text', { x: x0, y: y0 + 13 }, titles[name]));
    const [w, h] = [(wide - gap) / columns.length, (high - top - 22) / rows.length];
    rows.forEach((row, r) => {
      const yr = y0 + top + (rows.length - 1 - r) * h;
      columns.forEach((column, c) => {
        const share = value(name, column, row);
        const cell = svg('rect', { x: x0 + c * w, y: yr, width: Math.max(w - 0.5, 1), height: Math.max(h - 0.5, 1), fill: 'var(--a)', 'fill-opacity': (0.05 + 0.95 * strength(share)).toFixed(3) });
        cell.append(svg('title', {}, `${titles[name]}, ${y.of} ${row} ms, ${x.of} ${column} ms: ${number(100 * share)} %`));
        drawing.append(cell);
      });
      if (n % across === 0 && (r === 0 || r === rows.length - 1)) drawing.append(svg('text', { x: x0 - 5, y: yr + h / 2 + 4, 'text-anchor': 'end' }, String(row)));
    });
    for (const c of [0, columns.length - 1]) drawing.append(svg('text', { x: x0 + (c + 0.5) * w, y: y0 + high - 8, 'text-anchor': 'middle' }, String(columns[c])));
  });
  drawing.append(svg('text', { class: 'faint', x: 8, y: height - 8 }, `${y.name} by ${x.name}`));
}
