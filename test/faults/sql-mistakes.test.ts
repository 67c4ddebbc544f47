// Mistakes about SQL are found before any test runs, each at its place, with its line. `npm run faults` seeds
// all of them; `npm test` one of each kind.
import t from 'tap'
import { createSqlProject } from '../support/generator/sql-project.ts'
import { sqlMistakes } from '../support/generator/seeded-sql-mistakes.ts'
import { isLongForm } from '../support/long-form.ts'

const short = [
  'a column of an included file is misspelt',
  'a trigger is dropped',
  'a number becomes nullable',
  'nothing calls a statement',
  'a service asks Prisma for several rows',
]
const seeded = isLongForm ? sqlMistakes : sqlMistakes.filter(({ name }) => short.includes(name))
const project = createSqlProject(t)

t.test('every mistake can be seeded', async (t) => {
  t.ok(sqlMistakes.length >= 40)
  t.equal(new Set(sqlMistakes.map(({ name }) => name)).size, sqlMistakes.length)
  t.equal(seeded.length, isLongForm ? sqlMistakes.length : short.length)
  for (const mistake of sqlMistakes) project.seed(mistake).undo()
})

t.test('the compiler reports nothing about the callers before', async (t) => {
  for (const file of new Set(seeded.map(({ at: [file] }) => file).filter((file) => file.endsWith('.ts'))))
    t.equal(project.typesOf(file), '', file)
})

for (const mistake of seeded)
  t.test(`${mistake.name}: found by ${mistake.foundBy}`, async (t) => {
    const { undo } = project.seed(mistake)
    const [file, start] = mistake.at
    const { place, line } = placeOf(project.read(file), start)
    const [foundBy, ...lines] = (await project.report(mistake)).split('\n')
    undo()
    t.comment(`| ${mistake.name} | ${foundBy} | \`${file}:${place}\` |`)
    t.equal(foundBy, mistake.foundBy)
    const at = lines.findIndex((each) => /^[^ ]*?:\d+:\d+/.exec(each)?.[0] === `${file}:${place}`)
    if (at === -1) return t.fail(`nothing is reported at ${file}:${place}:\n${lines.join('\n')}`)
    // The message about a missing column names it.
    const isNamed = file.endsWith('.prisma')
    const end = isNamed ? at + 1 : lines.findIndex((each, i) => i > at && each.trim() === line.trim())
    t.not(end, -1, 'the line is shown')
    t.match(lines.slice(at, end).join('\n'), mistake.message)
  })

/** `line:column` of a text, and its line. */
function placeOf(text: string, start: string): { place: string; line: string } {
  const at = text.indexOf(start)
  if (at === -1) throw new Error(`There is no ${start}.`)
  const before = text.slice(0, at).split('\n')
  const place = `${before.length}:${before.at(-1)!.length + 1}`
  return { place, line: text.split('\n')[before.length - 1] }
}
