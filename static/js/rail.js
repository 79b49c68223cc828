// The rail of sessions: the current one, and the number that need an answer.
import { $, $$, setCurrent } from './dom.js';
import { onPatch } from './patch.js';

// The tab's title and icon show the number of sessions that need an answer, from the rail.
const plain = document.body.dataset.title;
function title() {
  const list = $('#rail-list') || $('#inbox');
  if (!list || list.dataset.needs === undefined) return;
  const n = +list.dataset.needs;
  const t = `${(n ? `(${n}) ` : '') + ($('#title')?.textContent || plain)} · ahphub`;
  if (document.title !== t) {
    document.title = t;
    $('#favicon').href = document.body.dataset.icons.split(' ')[n ? 1 : 0];
  }
  for (const b of $$('[data-needs-badge]')) {
    b.textContent = n;
    b.hidden = !n;
  }
}
onPatch((list) => {
  if (list.some((p) => /^(rail-list|inbox|title)$/.test(p[1]))) title();
  if (list.some((p) => p[1] === 'rail-list' || p[1] === 'chats')) mark();
});
function mark() {
  const here = document.body.dataset.sessionHere;
  for (const a of $$('.rail-item[data-session]')) setCurrent(a, a.dataset.session === here && 'true');
  const chat = new URLSearchParams(document.body.dataset.live).get('in');
  for (const a of $$('#chats a')) setCurrent(a, a.pathname.endsWith(`/c/${chat}`) && 'page');
}

$('.rail-item[aria-current]')?.scrollIntoView({ block: 'nearest' });
