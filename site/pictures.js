// The pictures of the articles, as wide as their place: what a phone shows is drawn for a phone.

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

/** Names beside samples of their colours, in as many rows as they need; the height of all. */
function legendOf(drawing, entries, [left, right], sample) {
  let [x, y] = [left, 10];
  ruler.font = '12px system-ui, sans-serif';
  entries.forEach((name, i) => {
    const wide = 26 + ruler.measureText(name).width + 16;
    if (x > left && x + wide > right) [x, y] = [left, y + 18];
    drawing.append(...sample(i, x, y), svg('text', { x: x + 26, y: y + 4 }, name));
    x += wide;
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
    // Of those at one place one is drawn.
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
