// Opens the explorer in a browser as a user does, and looks whether it keeps what it promises.
//
//   node explorer.mjs PAGE PUNCTUAL CHROMIUM [SCREENSHOTS]
//
// PUNCTUAL is the command, whose output is held against the page's to the byte.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fits, isAccessible, launch, looks, open as opened, openAll, run } from './browser.mjs';

const [page, punctual, executablePath, screenshots] = process.argv.slice(2);
const url = pathToFileURL(page).href;
const folder = mkdtempSync(join(tmpdir(), 'punctual-site-'));
const browser = await launch(executablePath);

/** What the command writes as Run file, and what it prints. */
function command(line) {
  const [, ...words] = line.split(' ');
  try {
    const text = execFileSync(punctual, words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return { text, run: readFileSync(join(folder, 'run.json'), 'utf8') };
  } catch (failed) {
    // That something is not as expected is its exit code.
    assert.equal(failed.status, 1, `${line}: ${failed}`);
    return { text: failed.stdout, run: readFileSync(join(folder, 'run.json'), 'utf8') };
  }
}

async function open(hash, options) {
  const tab = await opened(browser, url + hash, options);
  await answered(tab);
  return tab;
}

/** Waits for an answer. */
async function answered(tab) {
  await tab.waitForFunction(() => {
    const text = (id) => document.getElementById(id).textContent;
    const cards = [...document.querySelectorAll('.card .told')];
    return / in [\d.]+ m?s/.test(text('status') + text('zero-status')) || text('error') || text('zero-error')
      || /figures come out/.test(text('article-status')) || text('article-error') || (cards.length && cards.every((card) => card.textContent !== '...'));
  }, null, { timeout: 60_000 });
}

async function saved(tab, button) {
  await openAll(tab);
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.click(button)]);
  return readFileSync(await download.path(), 'utf8');
}

const ARTICLES = ['timers', 'zeroing', 'sleep', 'scheduling'];
const text = (tab, id) => tab.textContent(`#${id}`);
const marks = (tab, place) => tab.locator(`#${place} svg rect, #${place} svg circle`).count();

const checks = {
  'a page that is small'() {
    // docs/simulating.md says 1.5 MB at most.
    assert.ok(statSync(page).size < 1_500_000);
  },

  async 'it opens with four articles, each with an answer, and a scenario of my own is one click away'() {
    const tab = await open('');
    assert.deepEqual(await tab.$$eval('#cards a', (links) => links.map(({ hash }) => new URLSearchParams(hash.slice(1)).get('article'))), ARTICLES);
    for (const answer of await tab.$$eval('#cards .told', (all) => all.map((one) => one.textContent))) assert.match(answer, /\d/);
    // With the keyboard only.
    await tab.focus('#cards a');
    assert.notEqual(await tab.$eval('#cards a', (link) => getComputedStyle(link).outlineStyle), 'none');
    await tab.keyboard.press('Enter');
    await tab.waitForFunction(() => document.querySelectorAll('#claims li').length > 10);
    assert.ok(!(await tab.isVisible('#cards')) && (await tab.isVisible('#article-title')));
    await tab.click('nav >> text=A scenario of my own');
    await tab.waitForFunction(() => / in [\d.]+ m?s/.test(document.getElementById('status').textContent));
    assert.ok((await tab.isVisible('#file')) && !(await tab.isVisible('#articles')));
    await tab.context().close();
  },

  async 'every claim has what the command has, and nothing moves while it is computed'() {
    for (const [i, name] of ARTICLES.entries()) {
      const tab = await opened(browser, url, { viewport: { width: i % 2 ? 1400 : 390, height: 900 } });
      // The article takes the place of the cards, below which the footer was in view.
      await tab.evaluate((name) => { location.hash = `#article=${name}`; }, name);
      await tab.waitForFunction(() => document.querySelectorAll('#claims li').length > 10);
      await tab.evaluate(() => {
        globalThis.shift = 0;
        new PerformanceObserver((list) => list.getEntries().forEach(({ value, hadRecentInput }) => { if (!hadRecentInput) globalThis.shift += value; })).observe({ type: 'layout-shift' });
      });
      await tab.waitForFunction(() => /figures come out/.test(document.getElementById('article-status').textContent), null, { timeout: 120_000 });
      assert.equal(await text(tab, 'article-error'), '');
      const markdown = execFileSync(punctual, ['simulate', 'article', name, '--markdown'], { encoding: 'utf8' });
      const expected = markdown.trim().split('\n').slice(2).map((line) => {
        const [says, figure, got, how, command] = line.slice(2, -2).split(' | ');
        const [found] = how.split(': ');
        return { says, figure, got, found, why: how.slice(found.length + 2), command: command.replaceAll('`', '') };
      });
      const claims = await tab.$$eval('#claims li', (items) => items.map((item) => {
        const text = (selector) => item.querySelector(selector)?.textContent ?? '';
        return {
          says: text('.says'), figure: text('dd:not(.got)'), got: item.querySelector('.got')?.title ?? '', found: item.querySelector('.verdict').dataset.found,
          why: text('.why-not').trim(), command: text('code').replace('punctual ', ''),
        };
      }));
      assert.deepEqual(claims, expected);
      const shown = await tab.$$eval('.got', (all) => all.map(({ title, textContent }) => [title, textContent]));
      const first = (figure) => Number(figure.match(/\d+(\.\d+)?/)?.[0] ?? 0);
      for (const [exact, rounded] of shown) assert.ok(Math.abs(first(exact) - first(rounded)) < 0.001, `${exact}: ${rounded}`);
      const shift = await tab.evaluate(() => globalThis.shift);
      assert.ok(shift < 0.01, `${name} moves by ${shift}`);
      await tab.context().close();
    }
  },

  async 'a story begins with its pictures, and their numbers are folded away below'() {
    for (const [name, pictures] of [['timers', 1], ['zeroing', 2], ['sleep', 4], ['scheduling', 1]]) {
      const tab = await open(`#article=${name}`);
      const figures = await tab.$$eval('#pictures figure', (all) => all.map((figure) => ({
        drawn: figure.querySelectorAll('svg .series, svg rect').length,
        folded: !figure.querySelector('details').open, rows: figure.querySelectorAll('tbody tr').length,
        above: figure.getBoundingClientRect().bottom < document.getElementById('claims').getBoundingClientRect().top,
      })));
      assert.equal(figures.length, pictures, name);
      for (const { drawn, folded, rows, above } of figures) assert.ok(drawn > 0 && folded && rows > 0 && above, `${name}: ${JSON.stringify({ drawn, folded, rows, above })}`);
      await tab.context().close();
    }
    // The graph of change-interval is that of its Run: one line for each generation, through the medians.
    const tab = await open('#article=timers');
    await openAll(tab);
    const { run } = command('punctual simulate change-interval --json run.json');
    const medians = ['windows-10-1909', 'windows-10-2004'].map((model) => JSON.parse(run).results.filter(({ experiment, on, subject }) => experiment === 'scenario' && on === model && subject === 'measure').map((row) => row.slept_ns.p50));
    const rows = await tab.$$eval('#pictures tbody tr', (all) => all.map((row) => [row.cells[1], row.cells[4]].map((cell) => parseFloat(cell.textContent))));
    assert.equal(rows.length, 15);
    rows.forEach((row, i) => row.forEach((shown, model) => assert.ok(Math.abs(shown - medians[model][i] / 1e6) < 0.06, `${i + 1} ms: ${shown}`)));
    await tab.context().close();
    const story = await open('#page=timers&story=change-interval');
    assert.ok((await story.locator('#phases svg .series').count()) >= 4);
    assert.equal(await story.$eval('#wakes details', (details) => details.open), false);
    await story.context().close();
  },

  async 'a claim has an address, and a preset that the simulator runs'() {
    const tab = await open('#article=timers&claim=19');
    assert.equal(await tab.evaluate(() => document.activeElement.id), 'claim-19');
    assert.ok(await tab.$eval('#claim-19', (item) => item.getBoundingClientRect().top > 0 && item.getBoundingClientRect().bottom < innerHeight));
    await tab.context().close();
    // A story, the steps of a row, and a pool.
    for (const [name, preset, status] of [['timers', 'story=lowest-request-wins', 'status'], ['timers', 'story=file', 'status'], ['zeroing', 'page=zeroing', 'zero-status']]) {
      const page = await open(`#article=${name}`);
      await page.locator(`.preset[href*="${preset}"]`).first().click();
      await page.waitForFunction((status) => / in [\d.]+ m?s/.test(document.getElementById(status).textContent), status, { timeout: 60_000 });
      assert.equal((await text(page, 'error')) + (await text(page, 'zero-error')), '', preset);
      await page.context().close();
    }
  },

  async 'the first story has no gap, and as many sleeps as the command'() {
    const tab = await open('#page=timers');
    const [, n] = (await text(tab, 'histogram')).match(/\(n = (\d+)\)/);
    const { run } = command(await text(tab, 'command'));
    const wakes = JSON.parse(run).results.reduce((sum, row) => sum + (row.wakes ?? 0), 0);
    assert.equal(Number(n), wakes);
    const [covered, shown] = await tab.$eval('#timeline svg', (svg) => {
      const widths = [...svg.querySelectorAll('[data-wake]')].map((sleep) => Number(sleep.querySelector('rect').getAttribute('width')));
      return [widths.reduce((sum, width) => sum + width, 0), svg.viewBox.baseVal.width - 16];
    });
    assert.ok(covered > 0.97 * shown, `${covered} of ${shown} pixels`);
    await tab.context().close();
  },

  async 'the legend looks as the bars do, light and dark'() {
    for (const colorScheme of ['light', 'dark']) {
      const tab = await open('#page=timers', { colorScheme });
      const looks = (selector, colour) => tab.$eval(selector, (one, colour) => [getComputedStyle(one)[colour], getComputedStyle(one).opacity], colour);
      const bar = '#timeline [data-wake] rect';
      assert.deepEqual(await looks('.swatch.longer', 'backgroundColor'), await looks(`${bar}:first-child`, 'fill'));
      assert.deepEqual(await looks('.swatch.asked', 'backgroundColor'), await looks(`${bar}:nth-child(2)`, 'fill'));
      await tab.context().close();
    }
  },

  async 'every story has figures, and the command writes the same Run and prints the same'() {
    const tab = await open('#page=timers');
    const stories = await tab.$$eval('#story option', (options) => options.map(({ value }) => value));
    for (const story of stories.filter((story) => !['own', 'file'].includes(story))) {
      // The one that takes long is shortened.
      const hash = `#story=${story}${story === 'job-system' ? '&length=1s' : ''}`;
      const other = await open(hash);
      assert.equal(await text(other, 'error'), '', story);
      const line = await text(other, 'command');
      const [run, same] = [await saved(other, '#save'), command(`${line}`)];
      assert.ok(run === same.run, `${line}: another Run file`);
      assert.equal(await text(other, 'text'), same.text, line);
      for (const place of ['timeline', 'histogram']) assert.ok((await marks(other, place)) > 1, `${story}: ${place} is empty`);
      await other.context().close();
    }
    await tab.context().close();
  },

  async 'a wake says why it came, in the words of the command'() {
    const tab = await open('#story=change-interval&on=windows-10-2004');
    const bar = tab.locator('[data-wake]').nth(3);
    await bar.click();
    await tab.waitForFunction(() => document.getElementById('why').textContent.includes('called Sleep'));
    const why = (await text(tab, 'why')).replace(/^It took .*?s\. /, '');
    const at = why.match(/at ([\d.]+) ms, due/)[1];
    const said = execFileSync(punctual, ['simulate', 'change-interval', '--on', 'windows-10-2004', '--explain', `measure@${at}ms`], { encoding: 'utf8' });
    assert.equal(why, said.trim());
    // The same with the keyboard only.
    const before = await text(tab, 'why');
    await tab.focus('#timeline svg');
    await tab.keyboard.press('ArrowRight');
    await tab.waitForFunction((before) => !['...', before].includes(document.getElementById('why').textContent), before);
    await tab.context().close();
  },

  async 'sliders change what is simulated, and a link brings it back'() {
    const tab = await open('#story=own&on=windows-10-1909&program=A~1~0~0&program=B~10~0~0');
    const rate = () => tab.$eval('#wakes tbody tr', (row) => row.cells[3].textContent);
    assert.equal(await rate(), '64');
    await tab.locator('.program').nth(1).locator('input[type=range]').nth(1).fill('2');
    await tab.waitForFunction(() => document.querySelector('#wakes tbody tr').cells[3].textContent === '500');
    const link = new URL(tab.url()).hash;
    const again = await open(link);
    assert.equal(await again.$eval('#wakes tbody tr', (row) => row.cells[3].textContent), '500');
    const before = await again.$eval('#timeline', (place) => place.textContent);
    await again.locator('#from').fill('900');
    assert.notEqual(await again.$eval('#timeline', (place) => place.textContent), before);
    await tab.context().close();
    await again.context().close();
  },

  async 'a scenario of my own begins with what was shown, and an error stands alone'() {
    const tab = await open('#story=own&on=linux&on=windows-10-1909&program=A~1~2~0');
    // A system without requests is simulated without them.
    const sentences = await tab.$$eval('#verdict p', (all) => all.map((one) => one.textContent));
    const [answers, evidence] = [sentences.slice(0, 2), sentences.slice(2)];
    assert.ok(answers[0].startsWith('On windows-10-1909: ') && answers[1].startsWith('On linux: '));
    assert.deepEqual(evidence.map((one) => one.split(':')[0]), ['Model windows-10-1909', 'Model linux']);
    await tab.selectOption('#story', 'file');
    await answered(tab);
    assert.equal(await text(tab, 'error'), '');
    assert.ok(await tab.isVisible('#file'));
    assert.deepEqual(await tab.$$eval('#models input:checked', (all) => all.map(({ value }) => value)), ['windows-10-1909']);
    await tab.fill('#file', 'nonsense');
    await tab.waitForFunction(() => document.getElementById('error').textContent);
    assert.ok(!(await tab.isVisible('#verdict')) && !(await tab.isVisible('#timeline')));
    await tab.context().close();
    const empty = await open('#story=file');
    assert.equal(await text(empty, 'error'), '');
    await empty.context().close();
  },

  async 'locks are explained, and what takes long says how far it is'() {
    const tab = await opened(browser, `${url}#page=zeroing`);
    const bar = '#zero-progress';
    await tab.waitForFunction((bar) => document.querySelector(bar).value > 0.01 && document.querySelector(bar).value < 1, bar, { timeout: 60_000 });
    assert.ok(await tab.isVisible(bar));
    await answered(tab);
    assert.ok(!(await tab.isVisible(bar)));
    for (const label of await tab.$$eval('#locks label', (all) => all.map(({ textContent }) => textContent))) assert.ok(label.length > 40, label);
    await tab.context().close();
  },

  async 'pools: the same Run as the command, and sliders that do something'() {
    const tab = await open('#page=zeroing&threads=16&lock=tas&lock=mcs');
    assert.equal(await text(tab, 'zero-error'), '');
    const line = await text(tab, 'zero-command');
    const same = command(line);
    assert.ok((await saved(tab, '#zero-save')) === same.run, `${line}: another Run file`);
    assert.equal(await text(tab, 'zero-text'), same.text);
    for (const place of ['per-cpu', 'per-wall']) assert.ok((await marks(tab, place)) > 1, `${place} is empty`);
    const before = await text(tab, 'zero-verdict');
    await tab.locator('#batch').fill('3');
    await tab.waitForFunction((before) => document.getElementById('zero-verdict').textContent !== before, before);
    await tab.context().close();
  },

  async 'text of others stays text, and what is wrong is said in a sentence'() {
    const bad = '<img src=x onerror=alert(1)></script><b>';
    const scenario = `title = "${bad}"\nsource = "${bad}"\non = ["linux"]\nphase = [{ name = "${bad}", for = "1s" }]\n[[process]]\nname = "${bad}"\ndo = [{ loop = [{ sleep = "1ms" }] }]\n`;
    const tab = await open(`#story=file&on=linux&file=${encodeURIComponent(scenario)}`);
    assert.equal(await tab.locator('main img, main b:text("img")').count(), 0);
    assert.ok((await text(tab, 'wakes')).includes(bad));
    await tab.context().close();
    for (const [hash, said] of [
      ['#story=file&file=nonsense&on=linux', /mine\.toml/],
      ['#story=lowest-request-wins&on=linux', /no resolution to ask for/],
      ['#story=lowest-request-wins&on=amiga', /there is no model/],
      ['#story=lowest-request-wins&length=abc', /abc/],
      ['#story=game-loop&on=linux&parameters=cpus%3D0', /cpus/],
    ]) {
      const wrong = await open(hash);
      assert.match(await text(wrong, 'error'), said, hash);
      await wrong.context().close();
    }
  },

  async 'narrow and wide, light and dark: nothing beyond the edge, nothing that axe finds serious'() {
    // A model with a long name in a story with every kind of figure.
    const long = '#story=change-interval&on=windows-10-2004&parameters=jitter%3D1us%2Ccpus%3D2%2Cslip%3D60%2Chardware%3Dexact%2Cbase%3Dnow%2Cinterval%3D2ms';
    for (const hash of ['', ...ARTICLES.map((name) => `#article=${name}`), '#story=own', long, '#page=zeroing&threads=8']) {
      for (const [width, colorScheme] of looks) {
        const tab = await open(hash, { viewport: { width, height: 900 }, colorScheme });
        if (screenshots) await tab.screenshot({ path: join(screenshots, `${hash.replace(/\W/g, '-')}-${width}-${colorScheme}.png`), fullPage: true });
        await fits(tab, `${hash} at ${width}, ${colorScheme}`);
        const beyond = await tab.$$eval('td, svg text', (all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth).map(({ textContent }) => textContent));
        assert.deepEqual(beyond, [], `${hash} at ${width}: beyond the edge`);
        await isAccessible(tab, `${hash} at ${width}, ${colorScheme}`);
        await tab.context().close();
      }
    }
  },
};

try {
  await run(browser, 'site', checks);
} finally {
  rmSync(folder, { recursive: true });
}
