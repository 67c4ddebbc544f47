// The turns of the document worker: between owners, then between the workspaces of an owner.
import t from 'tap'
import { WorkspaceTurns } from '../../services/ai/knowledge/workspace-turns.ts'

/** Runs jobs one after the other. `jobs`: the number of jobs by `owner/workspace`, the oldest first. */
function orderOf(jobs: Record<string, number>): string[] {
  const turns = new WorkspaceTurns(1)
  const order: string[] = []
  const ownerOf = (workspace: string): string => workspace.split('/')[0]
  for (;;) {
    const waiting = Object.keys(jobs).filter((workspace) => jobs[workspace] > 0)
    const owners = new Map(waiting.map((workspace) => [workspace, ownerOf(workspace)]))
    let found: string | undefined
    for (const except of turns.exclusions(owners)) {
      found = waiting.find((workspace) => !except.includes(workspace))
      if (found !== undefined) break
    }
    if (found === undefined) return order
    jobs[found]--
    order.push(found)
    turns.start(found, ownerOf(found))()
  }
}

t.test('an owner with many workspaces gets as many turns as one with a single workspace', async (t) => {
  t.same(orderOf({ 'ada/1': 3, 'ada/2': 2, 'ada/3': 2, 'bob/1': 3, 'eve/1': 1 }).slice(0, 7), [
    'ada/1',
    'bob/1',
    'eve/1',
    'ada/2',
    'bob/1',
    'ada/3',
    'bob/1',
  ])
})

t.test('the workspaces of an owner take turns', async (t) => {
  t.same(orderOf({ 'ada/1': 3, 'ada/2': 1, 'ada/3': 2 }), [
    'ada/1',
    'ada/2',
    'ada/3',
    'ada/1',
    'ada/3',
    'ada/1',
  ])
})

t.test('an owner with the full number of jobs waits while others wait', async (t) => {
  const turns = new WorkspaceTurns(1)
  const owners = new Map([
    ['a1', 'ada'],
    ['a2', 'ada'],
    ['b1', 'bob'],
  ])
  const end = turns.start('a1', 'ada')
  const [first] = turns.exclusions(owners)
  t.same(new Set(first), new Set(['a1', 'a2']))
  t.same([...turns.exclusions(owners)].at(-1), [], 'it gets a free slot that nobody else needs')
  end()
  t.equal(turns.isIdle, true)
})
