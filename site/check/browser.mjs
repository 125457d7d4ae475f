// A browser for checks: every complaint of a page, and every request to elsewhere, fails.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function launch(executablePath) {
  // Without those flags it looks for hosts of its own.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({ executablePath, args });
}

export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const tab = await context.newPage();
  tab.on('console', (message) => assert.notEqual(message.type(), 'error', message.text()));
  tab.on('pageerror', (error) => assert.fail(error));
  tab.on('request', (request) => assert.match(request.url(), /^(file|blob):/));
  await tab.goto(url);
  return tab;
}

/** Opens what is folded. */
export function openAll(tab) {
  return tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
}

export async function fits(tab, what) {
  const over = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(over <= 0, `${what}: ${over} pixels too wide`);
}

/** Whether axe finds no serious fault of accessibility. */
export async function isAccessible(tab, what) {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => axe.run());
  const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact));
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`), [], what);
}

/** Both schemes at the widths of a telephone and of a wide screen. */
export const looks = [[390, 'dark'], [1600, 'light'], [390, 'light'], [1600, 'dark']];

export async function run(browser, name, checks) {
  try {
    for (const [what, check] of Object.entries(checks)) {
      await check();
      console.log(`${name}: ${what}`);
    }
  } finally {
    await browser.close();
  }
}
