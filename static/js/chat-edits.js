// Loads the changes of tool calls, rendered by the host like review rows: at once on a pending
// card, otherwise when the call is expanded. Patches may replace cards, so answers are cached.
import { $, parse } from './dom.js';
import { isAtEnd, onPatch, scrollToEnd } from './patch.js';

const known = new Map();
const get = async (url) => {
  const r = await fetch(url, { headers: { 'X-Fragment': 'edits' } });
  if (!r.ok) throw new Error(await r.text());
  return r.text();
};
let style; // promise of the style sheet of review rows, once requested
// settled moves a fragment's style sheet to the document and waits for it, so that rows appear in one step.
async function settled(fragment) {
  const link = $('link', fragment);
  link?.remove();
  if (link) {
    style ||= new Promise((done) => {
      link.onload = link.onerror = done;
      document.head.append(link);
    });
    await style;
  }
  return fragment;
}
async function draw(box) {
  if ('drawn' in box.dataset) return;
  box.dataset.drawn = '';
  const url = box.dataset.edits;
  try {
    if (!known.has(url)) {
      known.set(url, get(url));
      if (known.size > 30) known.delete(known.keys().next().value);
    }
    const content = await settled(parse(await known.get(url)));
    const follows = isAtEnd();
    box.replaceChildren(content);
    if (follows) scrollToEnd(); // at once: a button below must not move away from the pointer
  } catch {
    known.delete(url);
    delete box.dataset.drawn; // the link is still there
  }
}
const look = (root) => {
  for (const b of root.querySelectorAll('.asks [data-edits], .fold[open] [data-edits]')) draw(b);
};
look(document);
onPatch((list) => {
  if (list.some((p) => p[0] !== 's' && /^(tool|turn|parts)/.test(p[1]))) look(document);
});
document.addEventListener(
  'toggle',
  (e) => {
    if (e.target.open) for (const b of e.target.querySelectorAll('[data-edits]')) draw(b);
  },
  true,
);

// A click loads a file that is too long for the card.
document.addEventListener('click', async (e) => {
  const a = e.target.closest?.('.edit-file .load');
  if (!a || e.ctrlKey || e.metaKey) return;
  e.preventDefault();
  try {
    a.closest('.file-body').replaceChildren(parse(await get(a.getAttribute('href'))));
  } catch {
    location.assign(a.href);
  }
});
