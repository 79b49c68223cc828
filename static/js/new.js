// The form of a new session: each agent has settings of its own.
(() => {
'use strict';
const form = document.querySelector('form[action="/new"]');
form?.addEventListener('change', async (e) => {
  if (e.target.name !== 'agent') return;
  const r = await fetch('/new?' + new URLSearchParams({ agent: e.target.value }), { headers: { 'X-Fragment': 'config' } }).catch(() => null);
  if (r?.ok && e.target.checked) document.getElementById('config').replaceWith(window.ahphub.parse(await r.text()));
});
})();
