// The pages of the articles that punctual began with: pictures, then each claim with its outcome.

/** An outcome without the digits that say nothing. */
const brief = (text) => text.replace(/\d+\.\d{4,}/g, (digits) => String(Number(Number(digits).toFixed(3))))
  .replace(/\b([\d.]+) to \1(?= )/g, '$1').replaceAll(' /s', '/s');

const addressOf = (pairs) => `#${new URLSearchParams(pairs)}`;

/** The article that is shown; null where all are. */
let shownArticle;

function articleAsked() {
  return catalogue.articles.find(({ name }) => name === address().get('article'));
}

/** All articles, each with its answer. */
async function showAll() {
  const cards = catalogue.articles.map(({ name, title, claims }) => {
    const answer = el('p', { class: 'told' }, '...');
    const link = el('a', { href: addressOf({ page: 'articles', article: name }) }, title);
    const computed = claims.filter((claim) => claim.computed).length;
    return { name, answer, card: el('li', { class: 'card' }, el('h2', {}, link), answer, el('p', { class: 'note' }, `${claims.length} claims, ${computed} of them with figures that are computed here`)) };
  });
  at('cards').replaceChildren(...cards.map(({ card }) => card));
  for (const { name, answer } of cards) answer.textContent = brief(await simulator.ask({ ask: 'answer', article: name }));
}

/** A picture with its caption, its table folded below, and room for it before it is there. */
function figureOf(picture) {
  const place = el('div', { class: 'drawing', style: `min-height: ${picture.height}px` });
  const more = el('details', {}, el('summary', {}, 'The numbers'));
  const whole = el('figure', {}, el('h3', {}, picture.title), place, el('figcaption', { class: 'note' }, picture.caption), more);
  return { picture, place, more, whole };
}

let figuresShown = [];

function drawPictures() {
  if (at('articles').hidden) return;
  for (const { picture, place } of figuresShown) picture.draw(place);
}

/** One claim, with places for what comes out. */
function claimOf(article, claim, i) {
  const link = el('a', { class: 'nth', href: addressOf({ page: 'articles', article: article.name, claim: i + 1 }), 'aria-label': `Link to claim ${i + 1}` }, String(i + 1));
  const got = el('dd', { class: 'got' }, claim.computed ? '...' : '');
  const verdict = el('span', { class: 'verdict' }, '');
  const preset = el('a', { class: 'preset', hidden: '' }, 'Open in the simulator');
  const pairs = [['The article', claim.figure], ['Comes out', undefined]].filter(([, value]) => value !== '' && (value || claim.computed));
  const list = el('dl', {}, ...pairs.map(([term, value]) => el('div', {}, el('dt', {}, term), value === undefined ? got : el('dd', {}, value))));
  const item = el('li', { id: `claim-${i + 1}`, class: 'claim', tabindex: '-1' }, link,
    el('p', { class: 'says' }, claim.says), list, el('p', { class: 'found' }, verdict, preset),
    el('p', { class: 'note how' }, ...(claim.why ? [el('span', { class: 'why-not' }, `${claim.why} `)] : []), el('code', {}, claim.command)));
  return { item, got, verdict, preset };
}

const WORDS = { agrees: 'agrees', differs: 'differs', shown: 'shown on a model', 'measured here': 'on your computer', 'by hand': 'by hand, on Windows', 'not shown': 'not shown' };

/** The claim of the address, if it has one. */
function pointAtClaim() {
  at('claims').querySelector('.chosen')?.classList.remove('chosen');
  const item = document.getElementById(`claim-${address().get('claim')}`);
  if (!item) return;
  item.classList.add('chosen');
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: 'center' });
}

async function showArticle(article) {
  const pictures = PICTURES[article.name] ?? [];
  at('article-title').textContent = article.title;
  at('article-about').textContent = article.about;
  figuresShown = pictures.map(figureOf);
  at('pictures').className = pictures.length > 2 ? 'pictures many' : 'pictures';
  at('pictures').replaceChildren(...figuresShown.map(({ whole }) => whole));
  const claims = article.claims.map((claim, i) => claimOf(article, claim, i));
  at('claims').replaceChildren(...claims.map(({ item }) => item));
  at('article-answer').textContent = '...';
  drawPictures();
  pointAtClaim();
  const [status, bar] = [at('article-status'), at('article-progress')];
  const all = pictures.reduce((count, picture) => count + picture.questions().length, claims.length);
  let done = 0;
  const step = () => { bar.value = (done += 1) / all; };
  status.textContent = 'Computing ...';
  bar.value = 0;
  bar.style.visibility = 'visible';
  for (const { picture, more } of figuresShown) {
    const questions = picture.questions();
    for (const [i, question] of questions.entries()) {
      picture.answers[i] ??= await simulator.ask(question);
      step();
      drawPictures();
    }
    more.append(picture.table());
    if (picture.command) more.append(el('p', { class: 'note' }, 'As a command: ', el('code', {}, picture.command())));
  }
  at('article-answer').textContent = brief(await simulator.ask({ ask: 'answer', article: article.name }));
  const count = { agrees: 0, differs: 0 };
  for (const [i, { got, verdict, preset }] of claims.entries()) {
    const told = await simulator.ask({ ask: 'claim', article: article.name, claim: i });
    got.textContent = brief(told.got);
    got.title = told.got;
    verdict.textContent = WORDS[told.found];
    verdict.dataset.found = told.found;
    if (told.preset) {
      preset.href = addressOf(told.preset);
      preset.hidden = false;
    }
    if (told.found in count) count[told.found] += 1;
    step();
  }
  bar.style.visibility = 'hidden';
  const figures = count.agrees + count.differs;
  status.textContent = `${count.agrees} of ${figures} figures come out as the article states them; the others say why not.`;
  if (count.agrees === figures) status.textContent = `All ${figures} figures come out as the article states them.`;
}

/** Shows what the address asks for: all articles, or one. */
async function tellArticles() {
  const article = articleAsked();
  if (article && article === shownArticle) return pointAtClaim();
  shownArticle = article ?? null;
  at('all-articles').hidden = Boolean(article);
  at('one-article').hidden = !article;
  at('article-error').hidden = true;
  simulator.drop();
  try {
    await (article ? showArticle(article) : showAll());
  } catch (why) {
    if (why instanceof Dropped) return;
    at('article-error').textContent = why.message;
    at('article-error').hidden = false;
  }
}
