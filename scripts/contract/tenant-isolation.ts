// What is one user's is not another's: whatever a stranger asks about it is refused, and no list of a stranger has it.
import { kindOf, type Operation } from './document.ts'
import { pageThrough } from './pages.ts'
import { makersOf, partsOf, pathOf, sampled } from './requests.ts'
import { isPaged, listedKind } from './resources.ts'
import { maySucceed, type Run } from './cli.ts'
import { kindsOf } from './resource-pool.ts'

const part = 'strangers'

export async function holdStrangers(run: Run): Promise<void> {
  const { stranger } = run.people
  if (stranger === null) return
  const refused = run.wanted.filter(
    (operation) =>
      operation.scopes !== null &&
      !run.people.isOperators(operation) &&
      Object.keys(kindsOf(operation)).length > 0 &&
      maySucceed(run, operation),
  )
  for (const operation of refused) {
    if (run.over()) return
    if (!Object.values(kindsOf(operation)).some((kind) => isPrivate(run, kind))) continue
    const path = await pathOf(run, operation)
    if (path === null) continue
    const answer = await run.call(
      part,
      operation,
      { ...sampled(run, partsOf(run, operation)), path },
      stranger.key,
    )
    if (answer.status < 400)
      run.findings.add(
        operation.id,
        part,
        {
          check: 'stranger',
          expected: '403 or 404 for another user',
          came: `${answer.status} ${answer.text.slice(0, 200)}`,
        },
        answer,
      )
  }
  for (const operation of run.wanted)
    if (
      isPaged(operation) &&
      operation.scopes !== null &&
      Object.keys(kindsOf(operation)).length === 0 &&
      !run.people.isOperators(operation)
    )
      await strangersList(run, operation, stranger.key)
}

/** A kind that only an operator makes is everybody's to read, such as a catalogue. */
export function isPrivate(run: Run, kind: string): boolean {
  const makers = makersOf(run, kind)
  return makers.length === 0 || makers.some((maker) => !run.people.isOperators(maker))
}

async function strangersList(run: Run, operation: Operation, key: string): Promise<void> {
  const kind = listedKind(run.document, operation)
  if (kind === null || !isPrivate(run, kind)) return
  const filters = operation.parameters.filter((each) => each.in === 'query' && kindOf(each.schema) !== null)
  const queries = [
    {},
    ...filters.flatMap(({ name, schema }) =>
      run.world
        .known(kindOf(schema)!, true)
        .slice(0, 1)
        .map(({ id }) => ({ [name]: id })),
    ),
  ]
  const own = new Set(run.world.known(kind, true).map(({ id }) => id))
  for (const query of queries) {
    const read = await pageThrough(run, part, operation, { path: {}, query, most: 3, key })
    const seen = read?.items.find(({ id }) => own.has(id))
    if (read !== null && seen !== undefined)
      run.findings.add(
        operation.id,
        part,
        { check: 'stranger', expected: "no list with what is another user's", came: seen.id },
        read.last,
      )
  }
}
