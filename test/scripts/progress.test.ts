// The progress of long commands: one line on a terminal, plain lines elsewhere.
import t from 'tap'
import { createProgress } from '../../scripts/command/progress.ts'

function output(isTTY: boolean) {
  const written: string[] = []
  return { isTTY, written, write: (text: string | Uint8Array) => written.push(String(text)) > 0 }
}

t.test('a terminal has one line, which is rewritten and removed', async (t) => {
  const out = output(true)
  const progress = createProgress(out)
  progress.report('blobs: 1')
  progress.report('blobs: 2')
  progress.report('rows: 1', 'rows')
  progress.end()
  progress.end()
  t.same(out.written, ['\r\x1b[Kblobs: 1', '\r\x1b[Krows: 1', '\r\x1b[K'], 'at most ten lines a second')
})

t.test('elsewhere a part is a line, and then a line every ten seconds', async (t) => {
  const clock = t.capture(Date, 'now', () => now)
  let now = 1_000_000
  const out = output(false)
  const progress = createProgress(out)
  for (let n = 0; n < 25; n++) {
    progress.report(`blobs: ${n}`)
    now += 1_000
  }
  progress.report('rows: 1', 'rows')
  progress.report('rows: 2', 'rows')
  progress.end()
  t.ok(clock().length > 0)
  t.same(out.written, ['· blobs: 10\n', '· blobs: 20\n', 'rows…\n'])
})
