// Attachments of a message: chosen, pasted or dropped. They are in the form's own field, so that the form is sent
// normally; large pictures are scaled down first, since models do not use more pixels.
import { fits, mostBytes } from './compose.js';
import { $, toast } from './dom.js';

const field = $('#attach');
const box = $('#attached');
const form = field?.form;
if (form) attach();

function attach() {
  const side = 2000;
  async function smaller(file) {
    if (!/^image\/(png|jpeg|webp)$/.test(file.type) || file.size < mostBytes / 3) return file;
    try {
      const img = await createImageBitmap(file);
      const k = Math.min(1, side / Math.max(img.width, img.height));
      const c = new OffscreenCanvas(Math.round(img.width * k), Math.round(img.height * k));
      c.getContext('2d').drawImage(img, 0, 0, c.width, c.height);
      const blob = await c.convertToBlob({ type: 'image/webp', quality: 0.85 });
      return blob.size < file.size
        ? new File([blob], `${file.name.replace(/\.\w+$/, '')}.webp`, { type: 'image/webp' })
        : file;
    } catch {
      return file;
    }
  }
  async function add(files) {
    const all = new DataTransfer();
    for (const f of field.files) all.items.add(f);
    for (const f of files) all.items.add(await smaller(f));
    if (!fits([...all.files])) {
      toast('Attach at most 10 files of 700 KB together. Put larger files in the working directory.', true);
      return;
    }
    field.files = all.files;
    show();
  }
  async function picture(file) {
    const c = document.createElement('canvas');
    const img = await createImageBitmap(file);
    const k = Math.min(1, 160 / Math.max(img.width, img.height));
    c.width = Math.max(1, img.width * k);
    c.height = Math.max(1, img.height * k);
    c.getContext('2d').drawImage(img, 0, 0, c.width, c.height);
    return c;
  }
  function show() {
    box.replaceChildren(
      ...[...field.files].map((f, i) => {
        const li = document.createElement('li');
        li.className = 'chip';
        const name = document.createElement('span');
        name.className = 'cut';
        name.textContent = f.name;
        const off = document.createElement('button');
        off.type = 'button';
        off.className = 'btn quiet small';
        off.textContent = '×';
        off.setAttribute('aria-label', `Remove ${f.name}`);
        off.addEventListener('click', () => {
          const left = new DataTransfer();
          [...field.files].forEach((x, n) => {
            if (n !== i) left.items.add(x);
          });
          field.files = left.files;
          show();
          $('#message').focus();
        });
        li.append(name, off);
        if (f.type.startsWith('image/'))
          picture(f).then(
            (c) => li.prepend(c),
            () => {},
          );
        return li;
      }),
    );
    box.hidden = !field.files.length;
  }
  field.addEventListener('change', () => {
    // the chosen files replace the earlier ones; scale them down, too
    const chosen = [...field.files];
    field.files = new DataTransfer().files;
    add(chosen);
  });
  field.addEventListener('replaced', show);
  form.addEventListener('paste', (e) => {
    const files = [...e.clipboardData.files];
    if (!files.length) return;
    e.preventDefault();
    add(files);
  });
  const main = $('#main');
  const holds = (e) => [...(e.dataTransfer?.types || [])].includes('Files');
  main.addEventListener('dragover', (e) => {
    if (holds(e)) {
      e.preventDefault();
      form.classList.add('drop');
    }
  });
  main.addEventListener('dragleave', (e) => {
    if (!main.contains(e.relatedTarget)) form.classList.remove('drop');
  });
  main.addEventListener('drop', (e) => {
    form.classList.remove('drop');
    if (!holds(e)) return;
    e.preventDefault();
    add(e.dataTransfer.files);
  });
  if (field.files.length) show();
}
