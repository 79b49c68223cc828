// Automations: times in the reader's own time zone, what a schedule means while it is typed, settings of another agent.
(() => {
'use strict';
const { parse, on } = window.ahphub;
const how = { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' };
const plain = new Intl.DateTimeFormat([], how), zoned = new Intl.DateTimeFormat([], { ...how, timeZoneName: 'short' });
function local(root) {
  for (const t of root.querySelectorAll('time[data-when]')) {
    t.title = t.textContent;
    t.textContent = (t.dataset.when ? zoned : plain).format(new Date(t.dateTime));
    t.removeAttribute('data-when');
  }
}
local(document);
on.push(() => local(document));

const form = document.getElementById('auto-form');
if (!form) return;
const zone = form.elements.zone;
if (zone) {
  if (!zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const list = document.getElementById('zones');
  list.replaceChildren(...Intl.supportedValuesOf('timeZone').map((z) => Object.assign(document.createElement('option'), { value: z })));
}
// Only the newest answer counts: each question ends the one before.
let asking, due;
async function preview() {
  asking?.abort();
  asking = new AbortController();
  const q = new URLSearchParams();
  for (const f of ['when', 'time', 'minute', 'days', 'day', 'cron', 'zone']) for (const v of new FormData(form).getAll(f)) q.append(f, v);
  try {
    const r = await fetch('/automations/preview?' + q, { headers: { 'X-Fragment': 'preview' }, signal: asking.signal });
    if (!r.ok) return;
    const at = document.getElementById('preview');
    at.replaceWith(parse(await r.text()));
    local(form);
  } catch { /* another question came, or the host is away */ }
}
document.getElementById('schedule').addEventListener('input', () => { clearTimeout(due); due = setTimeout(preview, 150); });
if (form.elements.when) preview();
form.addEventListener('change', async (e) => {
  if (e.target.name !== 'agent') return;
  const r = await fetch('/new?' + new URLSearchParams({ agent: e.target.value }), { headers: { 'X-Fragment': 'config' } }).catch(() => null);
  if (r?.ok && e.target.checked) document.getElementById('config').replaceWith(parse(await r.text()));
});
})();
