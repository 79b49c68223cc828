import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeMarks, retryDelay, takeBatch } from '../js/feed.js';

const patchOf = (html) => ['r', 'id', html];

test('a batch holds as much HTML as one frame can lay out', () => {
  const queue = Array.from({ length: 10 }, () => patchOf('x'.repeat(3000)));
  const sizes = [];
  while (queue.length) sizes.push(takeBatch(queue, false).length);
  assert.deepEqual(sizes, [2, 2, 2, 2, 2]);
});

test('a patch larger than a frame goes alone and is not held back', () => {
  const queue = [patchOf('x'.repeat(50_000)), patchOf('y')];
  assert.equal(takeBatch(queue, false)[0][2].length, 50_000);
  assert.deepEqual(queue, [patchOf('y')]);
});

test('small patches share a frame, but not thousands of them', () => {
  const queue = Array.from({ length: 1000 }, () => ['x', 'gone']);
  assert.equal(takeBatch(queue, false).length, 181);
});

test('a hidden page takes everything at once, in order', () => {
  const queue = Array.from({ length: 50 }, (_, i) => ['r', `id${i}`, 'x'.repeat(1000)]);
  const taken = takeBatch(queue, true);
  assert.deepEqual(
    taken.map((p) => p[1]),
    Array.from({ length: 50 }, (_, i) => `id${i}`),
  );
  assert.equal(queue.length, 0);
});

test('a mark advances with its feed alone', () => {
  const marks = makeMarks(['changes:ab12:session:u~f0.6~4', 'session:ab12~f0.3~2', 'people:ab12~f0.16~2']);
  marks.advance('6', 9);
  assert.deepEqual(marks.list(), ['changes:ab12:session:u~f0.6~9', 'session:ab12~f0.3~2', 'people:ab12~f0.16~2']);
});

test('a room that was drawn anew continues with its new feed', () => {
  const marks = makeMarks(['session:ab12~f0.3~2', 'rail~f0.1~7']);
  marks.advance('3', 3, 'session:ab12~f1.8~0');
  assert.deepEqual(marks.list(), ['session:ab12~f1.8~0', 'rail~f0.1~7']);
  marks.advance('8', 1);
  assert.deepEqual(marks.list(), ['session:ab12~f1.8~1', 'rail~f0.1~7']);
});

test('attempts come later each time, up to 6.25 s, and not all pages at once', () => {
  for (const [n, least, most] of [
    [0, 150, 250],
    [1, 300, 500],
    [3, 1200, 2000],
    [10, 3750, 6250],
  ]) {
    assert.equal(retryDelay(n, 0), least);
    assert.equal(retryDelay(n, 1), most);
  }
});
