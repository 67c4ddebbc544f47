// The test of the resource in sample-resource.ts, which adding-a-resource.test.ts adds to a copy of this
// project.
import t from 'tap'
import { readFileSync } from 'node:fs'
import { samplesOf } from './sample-resource.ts'
import { startServer } from '../server/server.ts'
import { team } from '../server/team.ts'

const page = new URL('../../../docs/adding-a-resource.md', import.meta.url)
const samples = samplesOf(readFileSync(page, 'utf8'))
const required = samples.filter(({ mayBeNull }) => !mayBeNull)

function fieldsOf(fields: typeof samples, which: 0 | 1): object {
  return Object.fromEntries(fields.map(({ name, values }) => [name, values[which]]))
}

const server = await startServer(t)
const { path, editor } = await team(server)
/** The client of the copy has the operations. */
const api = editor.api as any
const first = await api.createSample({ path, body: fieldsOf(samples, 0) })
const second = await api.createSample({ path, body: fieldsOf(samples, 1) })
const pathOf = ({ id }: { id: string }): object => ({ ...path, sample_id: id })

t.test('a field of each type is created and read', async (t) => {
  t.match(first, fieldsOf(samples, 0))
  t.match(second, fieldsOf(samples, 1))
  for (const sample of [first, second]) t.same(await api.getSample({ path: pathOf(sample) }), sample)
})

t.test('a list is filtered and sorted by a field of each type', async (t) => {
  for (const { name, values, mayBeNull } of samples.filter(({ isPlain }) => isPlain)) {
    for (const [i, sample] of [first, second].entries()) {
      const { data } = await api.listSamples({ path, query: { [name]: values[i] } })
      t.same(data, [sample], `the filter ${name}`)
    }
    if (mayBeNull) continue
    for (const order of ['asc', 'desc']) {
      const query = { sort: name, order, limit: 1 }
      const { data, pagination } = await api.listSamples({ path, query })
      const next = await api.listSamples({ path, query: { ...query, cursor: pagination.next_cursor } })
      t.same(
        [...data, ...next.data],
        order === 'asc' ? [first, second] : [second, first],
        `${order} by ${name}`,
      )
    }
  }
})

t.test('a field of each type is changed, alone, and may be left out if it may be null', async (t) => {
  for (const { name, values } of samples)
    for (const value of values.toReversed()) {
      const updated = await api.updateSample({ path: pathOf(first), body: { [name]: value } })
      t.same(updated[name], value, `the update of ${name}`)
    }
  const nothing = Object.fromEntries(
    samples.filter(({ mayBeNull }) => mayBeNull).map(({ name }) => [name, null]),
  )
  t.match(await api.updateSample({ path: pathOf(first), body: nothing }), nothing)
  const created = await api.createSample({ path, body: fieldsOf(required, 0) })
  t.match(await api.getSample({ path: pathOf(created) }), nothing)
})
