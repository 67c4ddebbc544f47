// Reading documents of every kind that is read: what becomes of their text, and what the process that reads them may not do.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { confinedCommand } from '../../services/ai/parsing/sandbox-process.ts'
import { defaultCaps, readDocument, type Reading, type ReadingCaps } from '../../services/ai/parsing/parse.ts'
import { contentTypeOf } from '../../services/storage/content-type.ts'
import { docx, packedStream, paragraph, pdf, pdfOf, table } from '../support/documents.ts'
import { readers } from '../support/hostile-parsing.ts'
import { waitUntil } from '../support/wait.ts'

const folder = t.testdir({})
const chunking = { maxTokens: 200, overlapTokens: 30 }
let count = 0

async function read(
  name: string,
  content: Buffer | string,
  { caps, signal }: { caps?: Partial<ReadingCaps>; signal?: AbortSignal } = {},
): Promise<Reading> {
  const path = join(folder, String(count++))
  const bytes = Buffer.from(content)
  writeFileSync(path, bytes)
  return readDocument(
    { path, name, contentType: await contentTypeOf(bytes, { isComplete: true, declared: null, name }) },
    chunking,
    { caps, signal },
  )
}

const headings = ({ chunks }: Reading): (string | null)[] => chunks.map(({ heading }) => heading)

t.test('Markdown stays as it is written', async (t) => {
  const source =
    '\ufeff# Events\r\n\r\nKept for **30** days.\r\n\r\n## [Types](x.md) of `event`\r\n\r\nMany.\0\r'
  const reading = await read('events.md', source)
  t.equal(reading.text, '# Events\n\nKept for **30** days.\n\n## [Types](x.md) of `event`\n\nMany.\n')
  t.same(headings(reading), ['Events', 'Events › Types of event'])
  t.equal(reading.pages, null)
  t.ok(
    reading.chunks.every(
      ({ start, end, text, page }) => reading.text.slice(start, end) === text && page === null,
    ),
  )
})

t.test('HTML becomes what a reader sees of it', async (t) => {
  const reading = await read(
    'page',
    `<!doctype html><head><title>Site</title><style>p { color: red }</style></head><nav>Home</nav>
    <main><h1>Guide</h1><p>One <b>bold</b>&nbsp;word<br>and a <a href="x">link</a>.<ul><li>first<li><p>second</ul>
    <h2>Plans</h2><table><tr><th>Plan<th>Price<tr><td>Free<td><p>0</table><pre>a\n  b</pre><p hidden>no</p><script>no</script></main><footer>Imprint</footer>`,
  )
  t.equal(
    reading.text,
    'Guide\n\nOne bold word\nand a link.\n\n- first\n- second\n\nPlans\n\nPlan | Price\nFree | 0\n\na\n  b',
  )
  t.same(headings(reading), ['Guide', 'Guide › Plans'])
})

t.test(
  'the title of a page stands for the heading that it lacks, and a page that is all navigation is read',
  async (t) => {
    t.match(await read('a.html', '<html><title>Opening hours</title><p>Nine to five.'), {
      text: 'Opening hours\n\nNine to five.',
      chunks: [{ heading: 'Opening hours' }],
    })
    t.match(await read('a.html', '<html><nav><a href=x>Products</a></nav>'), { text: 'Products' })
  },
)

t.test('a row of CSV says what its values are', async (t) => {
  t.equal(
    (await read('a.csv', 'Name;Born;Note\n"Lovelace; Ada";1815;"wrote\nnotes"\nTuring;1912;\n')).text,
    'Name: Lovelace; Ada; Born: 1815; Note: wrote notes\nName: Turing; Born: 1912',
  )
  t.equal((await read('a.csv', '1,2\n3,4\n')).text, '1; 2\n3; 4', 'numbers name no columns')
})

t.test('JSON becomes lines that say where they are, with numbers as they are written', async (t) => {
  const { text } = await read(
    'a.json',
    '{"plans":[{"name":"Free","price":0},{"name":"Team","price":20.50}],"id":12345678901234567890,"a":{"b":{"c":[1,2]}, "d":{"e":{"f":true}}}}',
  )
  t.equal(
    text,
    'plans › 1: name: Free; price: 0\nplans › 2: name: Team; price: 20.50\nid: 12345678901234567890\na › b: c: 1, 2\na › d › e: f: true',
  )
})

t.test('what an object of JSON has beside plain values does not part them', async (t) => {
  const { text } = await read(
    'a.json',
    '{"people":[{"name":"Grace","address":{"city":"Arlington"},"salary":2235,"languages":["COBOL"]},{"name":"Ada"}],"version":2,"by":"payroll"}',
  )
  t.equal(
    text,
    'people › 1: name: Grace; salary: 2235; languages: COBOL\npeople › 1 › address: city: Arlington\npeople › 2: name: Ada\nversion: 2; by: payroll',
  )
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`field${i}`, `value ${i}`]))
  t.match(
    (await read('a.json', JSON.stringify({ ...many, inner: { a: { b: 1 } } }))).text,
    /^field0: value 0\nfield1: value 1\n/,
    'unless these are many',
  )
})

t.test('no chunk has half a record of CSV or JSON', async (t) => {
  const people = Array.from({ length: 60 }, (_, i) => ({
    id: i,
    name: `Person ${i}. Dr.`,
    note: `Hired in ${1990 + i}. ${'International communication, professional responsibilities. '.repeat(i % 7 === 0 ? 18 : 1)}`.trim(),
    salary: 2_000 + i,
  }))
  const csv = [
    'id,name,note,salary',
    ...people.map(({ id, name, note, salary }) => `${id},"${name}","${note}",${salary}`),
  ].join('\n')
  for (const [name, source] of [
    ['people.csv', csv],
    ['people.json', JSON.stringify(people)],
  ]) {
    const { text, chunks } = await read(name, source)
    const lines = text.split('\n')
    if (name.endsWith('.csv'))
      t.ok(lines.length === 60 && lines.some(({ length }) => length > 1_000), 'some are long')
    t.ok(chunks.length > 10)
    for (const chunk of chunks)
      t.ok(
        chunk.text.split('\n').every((line) => lines.includes(line)),
        chunk.text,
      )
  }
  const endless = await read('wide.csv', `a,b\n1,"${'word '.repeat(600)}"\n2,short\n`)
  t.ok(
    endless.chunks.length > 2 && endless.chunks.at(-1)!.text.endsWith('a: 2; b: short'),
    'but for one that is longer than a chunk',
  )
})

t.test('a PDF is read by pages, with words that are whole', async (t) => {
  const reading = await read(
    'a.pdf',
    pdf([
      [
        { text: 'Annual report', size: 24 },
        '',
        'The company had a good year, and it is an exam-',
        'ple of how things can go. It is well-',
        'known, and well-known things last.',
        '',
        { text: 'Outlook', size: 16 },
        'Next year will be better.',
      ],
      [],
      ['The third page.'],
    ]),
  )
  const { text, pages, chunks } = reading
  t.equal(
    text,
    'Annual report\n\nThe company had a good year, and it is an example\nof how things can go. It is well-known,\nand well-known things last.\n\nOutlook\n\nNext year will be better.\n\n\n\nThe third page.',
  )
  t.same(headings(reading), ['Annual report', 'Annual report › Outlook'])
  t.equal(pages?.length, 3)
  t.equal(text.slice(pages![2]), 'The third page.')
  t.same(
    chunks.map(({ page }) => page),
    [1, 1],
  )
})

t.test('DOCX has headings and tables', async (t) => {
  const reading = await read(
    'a.docx',
    docx(
      paragraph('Handbook', 'Title') +
        paragraph('Leave', 'H1') +
        paragraph('Everyone has 30 days &amp; more.') +
        table([
          ['Name', 'Days'],
          ['Ada', '30'],
        ]) +
        paragraph('Illness', 'H2') +
        paragraph('Call in.'),
    ),
  )
  t.equal(
    reading.text,
    'Handbook\n\nLeave\n\nEveryone has 30 days & more.\n\nName | Days\nAda | 30\n\nIllness\n\nCall in.',
  )
  t.same(headings(reading), ['Handbook', 'Leave', 'Leave › Illness'])
})

t.test('what a document is, its bytes say and not its name', async (t) => {
  t.match(await read('a.txt', pdf([['A page.']])), { text: 'A page.', pages: [0] })
  t.match(await read('a.pdf', docx(paragraph('A paragraph.'))), { text: 'A paragraph.' })
  t.match(await read('a.json', '# A heading\n'), { text: '# A heading\n' })
  t.match(await read('README.md', '<p align="center">Logo</p>\n\n# Name\n'), {
    text: '<p align="center">Logo</p>\n\n# Name\n',
    chunks: [{}, { heading: 'Name' }],
  })
})

t.test('text is read in the encoding that it is in', async (t) => {
  const text = 'Grüße – naïve café'
  const encodings: Record<string, Buffer> = {
    'UTF-8': Buffer.from(text),
    'with a mark': Buffer.from(`\ufeff${text}`),
    'UTF-16LE': Buffer.from(`\ufeff${text}`, 'utf16le'),
    'UTF-16BE': Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    'windows-1252': Buffer.from(text.replace('–', '\x96'), 'latin1'),
  }
  for (const [name, bytes] of Object.entries(encodings))
    t.equal((await read('a.txt', bytes)).text, text, name)
  t.equal(
    (
      await read(
        'a.html',
        Buffer.concat([
          Buffer.from('<html><meta charset="windows-1251"><p>'),
          Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
        ]),
      )
    ).text,
    'Привет',
    'that a page declares',
  )
})

const languages: Record<string, string> = {
  english: 'Invoices are kept for ten years, as the law demands of every company.',
  german: 'Rechnungen werden zehn Jahre lang aufbewahrt, wie es das Gesetz verlangt.',
  french: 'Les factures sont conservées pendant dix ans, comme la loi l’exige.',
  spanish: 'Las facturas se conservan durante diez años, como exige la ley.',
  italian: 'Le fatture sono conservate per dieci anni, come richiede la legge.',
  dutch: 'Facturen worden tien jaar bewaard, zoals de wet het van bedrijven verlangt.',
  portuguese: 'As faturas são guardadas por dez anos, como a lei exige.',
  swedish: 'Fakturor sparas i tio år, som lagen kräver av alla företag.',
  danish: 'Fakturaer opbevares i ti år, som loven kræver af alle virksomheder.',
  finnish: 'Laskut säilytetään kymmenen vuotta, kuten laki vaatii.',
  russian: 'Счета хранятся десять лет, как того требует закон.',
  greek: 'Τα τιμολόγια φυλάσσονται για δέκα χρόνια, όπως απαιτεί ο νόμος.',
  arabic: 'يتم الاحتفاظ بالفواتير لمدة عشر سنوات كما يتطلب القانون.',
  turkish: 'Faturalar kanunun gerektirdiği gibi on yıl boyunca saklanır.',
  hungarian: 'A számlákat a törvény szerint tíz évig kell megőrizni.',
  romanian: 'Facturile se păstrează timp de zece ani, așa cum cere legea.',
}

t.test('the language of a text is one that PostgreSQL can search by, or simple', async (t) => {
  // The process is the same for all; only what tells languages apart differs.
  const { languageOf } = await import('../../services/ai/parsing/detect-language.ts')
  for (const [language, text] of Object.entries(languages)) t.equal(languageOf(text), language)
  for (const text of [
    'Faktury są przechowywane przez dziesięć lat.',
    '発票は十年間保存されます。',
    '12 34 56',
    '',
  ])
    t.equal(languageOf(text), 'simple', text)
  t.equal((await read('a.txt', languages['german'])).language, 'german')
})

const slow = (): Buffer =>
  pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>',
    packedStream(`BT /F1 12 Tf ${'(a) Tj '.repeat(8_000_000)} ET`),
  ])

t.test('what takes too much of anything is ended, and so is what nobody wants any more', async (t) => {
  const caps: [Partial<ReadingCaps>, string][] = [
    [{ seconds: 0.2 }, 'too_slow'],
    [{ memoryBytes: 30 * 2 ** 20 }, 'too_much_memory'],
    [{ outputBytes: 10 }, 'too_large'],
    [{ inputBytes: 10 }, 'too_large'],
  ]
  for (const [cap, code] of caps)
    await t.rejects(read('a.txt', 'More than ten bytes.', { caps: cap }), { code }, code)
  const reason = new Error('not wanted')
  const stop = new AbortController()
  const reading = t.rejects(read('a.pdf', slow(), { signal: stop.signal }), reason)
  await waitUntil(() => !existsSync('/proc/self/cmdline') || readers().length > 0)
  stop.abort(reason)
  await reading
  await t.rejects(read('a.txt', 'text', { signal: AbortSignal.abort(reason) }), reason)
  t.same(readers(), [])
})

t.test(
  'the process ends when the one that wants the text does',
  { skip: !existsSync('/proc/self/cmdline') },
  async () => {
    writeFileSync(join(folder, 'slow.pdf'), slow())
    const module = fileURLToPath(new URL('../../services/ai/parsing/parse.ts', import.meta.url))
    const code = `import { readDocument } from ${JSON.stringify(module)}; await readDocument({ path: ${JSON.stringify(join(folder, 'slow.pdf'))}, name: '', contentType: '' }, { maxTokens: 200, overlapTokens: 0 })`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' })
    await waitUntil(() => readers(parent.pid).length > 0)
    const [reader] = readers(parent.pid)
    parent.kill('SIGKILL')
    const state = (): string => {
      try {
        return readFileSync(`/proc/${reader}/stat`, 'latin1')
      } catch {
        return 'gone'
      }
    }
    await waitUntil(() => state() === 'gone' || / Z /.test(state()), 'the process to end', 120_000)
  },
)

t.test('a parser that was taken over gets at nothing', async (t) => {
  const confinement = new URL('../../services/ai/parsing/sandbox-network.ts', import.meta.url).href
  const attempts = {
    reading: "(await import('node:fs')).readFileSync('/etc/hostname')",
    listing: "(await import('node:fs')).readdirSync('/')",
    writing: `(await import('node:fs')).writeFileSync(${JSON.stringify(join(folder, 'written'))}, 'x')`,
    running: "(await import('node:child_process')).execSync('id')",
    threads: "new (await import('node:worker_threads')).Worker('1', { eval: true })",
    eval: "eval('1')",
    binding: "process.binding('fs')",
    fetch: "await fetch('http://127.0.0.1:9/')",
    connecting: 'const { socket } = globalThis; socket.connect(9)',
    names: "(await import('node:dns')).lookup('localhost', () => {})",
    builtins: "process.getBuiltinModule('node:dgram')",
  }
  const code = `import { Socket } from 'node:net'; globalThis.socket = new Socket(); const { lockNetwork } = await import(${JSON.stringify(confinement)}); lockNetwork()
    const said = {}; ${Object.entries(attempts)
      .map(
        ([name, attempt]) => `try { ${attempt}; said.${name} = 'done' } catch { said.${name} = 'refused' }`,
      )
      .join('\n')}
    console.log(JSON.stringify(said))`
  const { command, args } = confinedCommand(defaultCaps, ['--input-type=module', '-e', code])
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: {} })
  t.same(
    JSON.parse(stdout || JSON.stringify({ stderr })),
    Object.fromEntries(Object.keys(attempts).map((name) => [name, 'refused'])),
  )
  t.notOk(readdirSync(folder).includes('written'))
})

t.test('a reader that does not start is no fault of the document', async (t) => {
  await t.rejects(readDocument({ path: join(folder, 'none'), name: '', contentType: '' }, chunking), {
    code: 'ENOENT',
  })
})
