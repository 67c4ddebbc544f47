// PDFs are rendered outside of the main thread, which serves all requests.
import t from 'tap'
import type { Receipt } from '../../services/payments/receipts/model.ts'
import { renderInThread } from '../../services/payments/receipts/pdf-thread.ts'

const receipt: Receipt = {
  seller: 'Platform',
  number: 'ORD-1',
  orderedOn: '1 May 2026',
  paidOn: '1 May 2026',
  paidBy: null,
  items: Array.from({ length: 20 }, (_, i) => ({
    description: `Item ${i}`,
    quantity: '1',
    unitAmount: '€1.00',
    amount: '€1.00',
  })),
  total: '€20.00',
  refunds: [],
  credit: null,
  remaining: null,
  warning: null,
  paidAt: new Date('2026-05-01'),
  updatedAt: new Date('2026-05-01'),
}

t.test('many receipts take little of the main thread', async (t) => {
  const [first] = await Promise.all([renderInThread(receipt), renderInThread(receipt)])
  t.equal(first.subarray(0, 5).toString(), '%PDF-')
  const before = [process.cpuUsage(), process.threadCpuUsage()]
  const all = await Promise.all(Array.from({ length: 20 }, () => renderInThread(receipt)))
  t.ok(
    all.every((bytes) => bytes.equals(first)),
    'the same receipt is the same bytes',
  )
  const [cpu, own] = [process.cpuUsage(before[0]), process.threadCpuUsage(before[1])]
  const [whole, main] = [cpu.user + cpu.system, own.user + own.system].map((us) => us / 1_000)
  t.ok(main < whole / 3, `${main} ms of the main thread, ${whole} ms of the process`)
})

t.test('a receipt that cannot be rendered is an error, and the next one works', async (t) => {
  await t.rejects(renderInThread({ ...receipt, items: null as never }))
  t.ok((await renderInThread(receipt)).length > 1_000)
})
