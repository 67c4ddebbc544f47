// The turns of the document worker: between owners, then between the workspaces of an owner.
import t from 'tap'
import { WorkspaceTurns } from '../../services/ai/knowledge/workspace-turns.ts'

const ownerOf = (workspace: string): string => workspace.split('/')[0]

/**
 * Fetches `free` jobs at a time until no job is left, each of which ends before the next fetch. `jobs`: the
 * number of jobs by `owner/workspace`, the oldest first.
 */
function orderOf(jobs: Record<string, number>, { free = 1 } = {}): string[][] {
  const turns = new WorkspaceTurns(free)
  const order: string[][] = []
  for (;;) {
    const waiting = Object.keys(jobs).filter((workspace) => jobs[workspace] > 0)
    if (waiting.length === 0) return order
    const owners = new Map(waiting.map((workspace) => [workspace, ownerOf(workspace)]))
    const fetched: string[] = []
    for (const { groups, most } of turns.plan(owners, free)) {
      const each = groups.flatMap((group) =>
        Array(Math.min(jobs[group], Math.ceil(most / groups.length))).fill(group),
      )
      fetched.push(...each.slice(0, most))
    }
    const batch = fetched.slice(0, free)
    for (const workspace of batch) jobs[workspace]--
    const ends = batch.map((workspace) => turns.start(workspace, ownerOf(workspace)))
    for (const end of ends) end()
    order.push(batch)
  }
}

t.test('an owner with many workspaces gets as many turns as one with a single workspace', async (t) => {
  const order = orderOf({ 'ada/1': 3, 'ada/2': 2, 'ada/3': 2, 'bob/1': 3, 'eve/1': 1 }).flat()
  t.same(order.slice(0, 7), ['ada/1', 'bob/1', 'eve/1', 'ada/2', 'bob/1', 'ada/3', 'bob/1'])
})

t.test('the workspaces of an owner take turns', async (t) => {
  t.same(orderOf({ 'ada/1': 3, 'ada/2': 1, 'ada/3': 2 }).flat(), [
    'ada/1',
    'ada/2',
    'ada/3',
    'ada/1',
    'ada/3',
    'ada/1',
  ])
})

t.test('the jobs of one fetch are shared evenly by the owners that wait', async (t) => {
  const [first, second] = orderOf({ 'ada/1': 9, 'ada/2': 9, 'bob/1': 9, 'eve/1': 1 }, { free: 6 })
  t.same(first, ['ada/1', 'ada/2', 'bob/1', 'bob/1', 'eve/1'])
  t.same(second.map(ownerOf).sort(), ['ada', 'ada', 'ada', 'bob', 'bob', 'bob'])
  t.same(orderOf({ 'ada/1': 9 }, { free: 6 })[0].length, 6, 'one owner alone gets all of them')
})

t.test('an owner with the full number of jobs waits while others wait', async (t) => {
  const turns = new WorkspaceTurns(1)
  const owners = new Map([
    ['a1', 'ada'],
    ['a2', 'ada'],
    ['b1', 'bob'],
  ])
  const end = turns.start('a1', 'ada')
  t.same(
    turns.plan(owners, 1).map(({ groups }) => groups),
    [['b1'], ['a2', 'a1']],
    'it gets a free slot that no other owner needs',
  )
  end()
  t.equal(turns.isIdle, false)
  turns.clear()
  t.equal(turns.isIdle, true)
})
