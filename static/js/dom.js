// Helpers for all scripts: finding elements, parsing HTML, toasts, forms, browser storage.
export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
export const byId = (id) => document.getElementById(id);

const workers = ['/service-worker'];
const asIs = {
  createHTML: (html) => html,
  createScriptURL: (address) => (workers.includes(address) ? address : null),
};
let made; // created on first use: a terminal's frame does not allow a policy of this name
const policy = () => {
  made ||= window.trustedTypes?.createPolicy('ahphub', asIs) || asIs;
  return made;
};

// parse returns the server's HTML as a fragment.
export function parse(html) {
  const template = document.createElement('template');
  template.innerHTML = policy().createHTML(html);
  return template.content;
}

// scriptAddress returns the trusted address of a worker's script.
export const scriptAddress = (address) => policy().createScriptURL(address);

// may reports whether the viewer has a right; the server checks it again.
export const may = (right) => document.body.classList.contains(`may-${right}`);

// stored and store access the browser's storage. It may be blocked: pages work without it.
const area = (local) => (local ? localStorage : sessionStorage);
export function stored(key, local) {
  try {
    return area(local).getItem(key) || '';
  } catch {
    return '';
  }
}
// storedData parses a stored value as JSON; null if it is invalid.
export function storedData(key, local) {
  try {
    return JSON.parse(stored(key, local));
  } catch {
    return null;
  }
}
export function store(key, value, local) {
  try {
    value ? area(local).setItem(key, value) : area(local).removeItem(key);
    return true;
  } catch {
    return false;
  }
}

export function toast(text, bad) {
  const note = document.createElement('div');
  note.textContent = text;
  if (bad) note.className = 'note bad';
  for (const other of $$('#toast > *')) if (other.textContent === text) other.remove();
  $('#toast').append(note);
  setTimeout(() => note.remove(), 8000);
}

// setCurrent marks the link to the current page; value false removes the mark.
export const setCurrent = (link, value) =>
  value ? link.setAttribute('aria-current', value) : link.removeAttribute('aria-current');

// say makes screen readers announce a text.
let said = '';
export function say(text) {
  if (!$('#said') || text === said) return;
  $('#said').textContent = said = text;
}
export const sayAgain = () => {
  said = '';
};

// post sends a form and returns the error, '' for none.
export async function post(to, body, more) {
  const busy = setTimeout(() => $('#busy').classList.add('active'), 300);
  try {
    const r = await fetch(to, { method: 'POST', body, headers: { 'X-Fragment': 'form' }, redirect: 'manual', ...more });
    return r.ok ? '' : (await r.text()) || 'Something went wrong. Reload the page and try again.';
  } catch {
    return "Can't reach the server. Your message hasn't been sent.";
  } finally {
    clearTimeout(busy);
    $('#busy').classList.remove('active');
  }
}
