// What a run finds beside wrong statuses and shapes, in the notes of a stranger: each defect is found at its
// operation, and the healthy server has no finding.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { openapi } from '../profile.ts'
import { runContract, type Outcome } from '../run-all.ts'
import { reportAsText } from '../text.ts'
import {
  createNotes,
  notesDefects,
  notesKeys,
  type NotesDefect,
} from '../../../test/support/contract/foreign-servers/notes.ts'
import { listen } from '../../../test/support/http/listen.ts'

const contract = await readOpenapi(
  join(import.meta.dirname, '../../../test/support/contract/foreign-servers/notes.yaml'),
)

const startNotes = async (t: Test, defect: NotesDefect | null): Promise<string> =>
  `http://127.0.0.1:${await listen(t, createNotes(defect))}`

async function runOn(base: string, document: object = contract): Promise<Outcome> {
  return await runContract({
    profile: openapi,
    document: openapi.prepare(structuredClone(document)),
    base,
    key: notesKeys[0],
    secondKey: notesKeys[1],
    seed: 5,
    runs: 8,
    readOnly: false,
    selected: () => true,
    time: 60_000,
    onProgress: () => {},
  })
}

t.test('the healthy server has no finding, and every operation succeeds', async (t) => {
  const { findings, unfinished } = await runOn(await startNotes(t, null))
  t.same(findings.all, [])
  t.same(unfinished, [])
})

const promises: NotesDefect[] = [
  'the total is wrong',
  'a creation trims the title',
  'a creation has another default',
  'a creation loses the tags',
  'a change resets the tags',
  'an empty change is accepted',
  'If-Match is ignored',
  'an empty file is a server error',
  'an attachment is truncated',
  'an attachment has another media type',
  'the Content-Disposition is missing',
  'a deleted attachment can be read',
  'a line is another object',
  'an event is another object',
]
for (const defect of promises)
  t.test(`${defect}: it is found`, async (t) => {
    const { findings } = await runOn(await startNotes(t, defect))
    const { operations, checks } = notesDefects[defect]
    const found = findings.all.map((each) => `${each.operation} ${each.check}`)
    t.ok(
      findings.all.some(({ operation, check }) => operations.includes(operation) && checks.includes(check)),
      found.join(', '),
    )
  })

t.test('an operation that never succeeds is not checked, and the report says why', async (t) => {
  const document = structuredClone(contract)
  const { NoteCreate, NoteUpdate } = document.components.schemas
  NoteCreate.properties = { title: { type: 'integer' } }
  // No body has what one part requires and another refuses.
  NoteUpdate.allOf = [{ required: ['reason'] }]
  const url = await startNotes(t, null)
  const outcome = await runOn(url, document)
  const reasons = Object.fromEntries(outcome.unfinished.map(({ operation, reason }) => [operation, reason]))
  t.match(reasons['createNote'], /^it never succeeded: 400/)
  t.match(reasons['getNote'], /no resource|never succeeded: 404/)
  t.match(reasons['updateNote'], /^no body is valid: additionalProperties: false refuses "reason"/)
  t.match(reportAsText(outcome, url, {}), /Not checked: valid, because it never succeeded: 400.*: createNote/)
})
