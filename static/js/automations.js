// Automations: times in the reader's own time zone, a preview of the schedule while it is edited,
// settings of another agent.
import { $, parse } from './dom.js';
import { onPatch } from './patch.js';

const how = { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' };
const plain = new Intl.DateTimeFormat([], how);
const zoned = new Intl.DateTimeFormat([], { ...how, timeZoneName: 'short' });
function local(root) {
  for (const t of root.querySelectorAll('time[data-when]')) {
    t.title = t.textContent;
    t.textContent = (t.dataset.when ? zoned : plain).format(new Date(t.dateTime));
    t.removeAttribute('data-when');
  }
}
local(document);
onPatch(() => local(document));

const form = $('#auto-form');
if (form) prepareForm();

function prepareForm() {
  const zone = form.elements.zone;
  if (zone) {
    if (!zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const list = $('#zones');
    list.replaceChildren(
      ...Intl.supportedValuesOf('timeZone').map((z) => Object.assign(document.createElement('option'), { value: z })),
    );
  }
  // Only the newest answer counts: each request aborts the previous one.
  let asking;
  let due;
  async function preview() {
    asking?.abort();
    asking = new AbortController();
    const q = new URLSearchParams();
    for (const f of ['when', 'time', 'minute', 'days', 'day', 'cron', 'zone'])
      for (const v of new FormData(form).getAll(f)) q.append(f, v);
    try {
      const r = await fetch(`/automations/preview?${q}`, {
        headers: { 'X-Fragment': 'preview' },
        signal: asking.signal,
      });
      if (!r.ok) return;
      const at = $('#preview');
      at.replaceWith(parse(await r.text()));
      local(form);
    } catch {
      /* aborted by a newer request, or the host is unreachable */
    }
  }
  $('#schedule').addEventListener('input', () => {
    clearTimeout(due);
    due = setTimeout(preview, 150);
  });
  if (form.elements.when) preview();
  form.addEventListener('change', async (e) => {
    if (e.target.name !== 'agent') return;
    const r = await fetch(`/new?${new URLSearchParams({ agent: e.target.value })}`, {
      headers: { 'X-Fragment': 'config' },
    }).catch(() => null);
    if (r?.ok && e.target.checked) $('#config').replaceWith(parse(await r.text()));
  });
}
