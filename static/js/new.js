// The form of a new session: each agent has its own settings.
import { $, byId, parse } from './dom.js';

const form = $('form[action="/new"]');
const show = async (choice) => {
  // the directory and the agents of another machine
  const r = await fetch(`/new?machine=${choice.value}`, { headers: { 'X-Fragment': 'place' } }).catch(() => null);
  if (r?.ok && choice.checked) byId('place').replaceWith(parse(await r.text()));
};
form?.addEventListener('change', async (e) => {
  if (e.target.name === 'machine') return show(e.target);
  if (e.target.name !== 'agent' && e.target.name !== 'dir') return;
  const chosen = () =>
    new URLSearchParams(['machine', 'agent', 'dir'].map((k) => [k, new FormData(form).get(k) ?? ''])).toString();
  const asked = chosen();
  const r = await fetch(`/new?${asked}`, { headers: { 'X-Fragment': 'config' } }).catch(() => null);
  if (!r?.ok || asked !== chosen()) return;
  const fresh = parse(await r.text());
  $('#wide-note')?.replaceWith(fresh.querySelector('#wide-note'));
  if (e.target.name === 'agent') $('#config').replaceWith(fresh);
  else for (const list of fresh.querySelectorAll('datalist')) byId(list.id)?.replaceWith(list); // keep chosen values
});
