'use strict';
// What is drawn says by data-s of what it is, by data-l which entry of the legend that is, and
// by data-v and data-c what a mark and the points of a line stand for.

for (const svg of document.querySelectorAll('figure svg')) {
  const named = (attribute, name) =>
    [...svg.querySelectorAll(`[${attribute}]`)].filter((one) => one.getAttribute(attribute) === name);
  const entries = svg.querySelectorAll('[data-l]');
  // An image has nothing in it that can be operated; and a title would show below the pointer.
  if (entries.length > 0) svg.setAttribute('role', 'group');
  const title = svg.querySelector('title');
  svg.setAttribute('aria-label', title.textContent);
  title.remove();
  const names = new Set([...entries].map((entry) => entry.getAttribute('data-l')));
  for (const name of names) {
    const [first, ...rest] = named('data-l', name);
    if (named('data-s', name).length === 0) continue;
    const toggle = () => {
      const shown = first.getAttribute('aria-pressed') === 'false';
      for (const entry of [first, ...rest]) entry.setAttribute('aria-pressed', shown);
      for (const drawn of named('data-s', name)) drawn.classList.toggle('off', !shown);
    };
    for (const entry of [first, ...rest]) {
      entry.setAttribute('role', 'button');
      entry.setAttribute('aria-pressed', true);
      entry.setAttribute('aria-label', `${name}: show`);
      entry.addEventListener('click', toggle);
    }
    // A line and its mark are one entry, of which the last has the name.
    const last = rest.at(-1) ?? first;
    last.setAttribute('tabindex', '0');
    for (const entry of [first, ...rest]) if (entry !== last) entry.setAttribute('aria-hidden', true);
    last.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      toggle();
    });
  }
}

const value = document.createElement('div');
value.id = 'value';
value.hidden = true;
document.body.append(value);

/** What can be pointed at in a figure: where, and in which words. */
function points(svg) {
  const all = [];
  const add = (of, x, y, words) => {
    const series = of.closest('[data-s]')?.getAttribute('data-s');
    all.push({ of, x, y, words: series ? `${series}\n${words}` : words });
  };
  for (const mark of svg.querySelectorAll('[data-v]')) {
    const { x, y, width, height } = mark.getBBox();
    add(mark, x + width / 2, y + height / 2, mark.getAttribute('data-v'));
  }
  for (const curve of svg.querySelectorAll('[data-c]')) {
    const words = curve.getAttribute('data-c').split('|');
    const line = curve.querySelector('polyline');
    [...line.points].forEach((point, i) => add(curve, point.x, point.y, words[i]));
  }
  return all;
}

const known = new WeakMap();
const NEAR = 14;
document.addEventListener('pointermove', (event) => {
  const svg = event.target.closest?.('figure svg');
  value.hidden = true;
  if (!svg) return;
  if (!known.has(svg)) known.set(svg, points(svg));
  const inside = event.target.closest('[data-v]');
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  let [best, least] = [null, NEAR];
  for (const point of known.get(svg)) {
    const off = point.of === inside ? 0 : Math.hypot(point.x - at.x, point.y - at.y);
    if (off < least && !point.of.closest('.off')) [best, least] = [point, off];
  }
  if (!best) return;
  value.textContent = best.words;
  value.hidden = false;
  const { width, height } = value.getBoundingClientRect();
  value.style.left = `${Math.max(0, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
  value.style.top = `${Math.max(0, event.clientY - height - 10)}px`;
});

// On paper nothing can be unfolded.
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
