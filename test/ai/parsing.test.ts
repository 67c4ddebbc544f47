// Parsing documents of every supported type: the resulting text, and the limits of the parser's sandbox.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { sandboxCommand } from '../../infra/sandbox/process.ts'
import {
  defaultLimits,
  parseDocument,
  parserProgram,
  type DocumentSource,
  type ParseResult,
  type ParsingLimits,
} from '../../services/ai/parsing/parse.ts'
import { contentTypeOf } from '../../services/storage/content-type.ts'
import { parseInProcess } from '../support/ai/document-worker.ts'
import { docx, packedStream, paragraph, pdf, pdfOf, table, zip } from '../support/ai/documents.ts'
import { encodeAs } from '../support/ai/encode.ts'
import { epubParts, msg, odt, pptxParts, shape, xlsx } from '../support/ai/office.ts'
import { parserProcesses } from '../support/ai/hostile-parsing.ts'
import { waitUntil } from '../support/server/wait.ts'

const folder = t.testdir({})
const chunking = { maxTokens: 200, overlapTokens: 30 }
let count = 0

async function write(name: string, content: Buffer | string): Promise<DocumentSource> {
  const path = join(folder, String(count++))
  const bytes = Buffer.from(content)
  writeFileSync(path, bytes)
  return {
    path,
    name,
    contentType: await contentTypeOf(bytes, { isComplete: true, declared: null, name }),
  }
}

/** In this process: a test below asserts that the sandboxed process gives the same result for each type. */
async function parse(name: string, content: Buffer | string): Promise<ParseResult> {
  return await parseInProcess(await write(name, content), chunking)
}

async function parseInSandbox(
  name: string,
  content: Buffer | string,
  options: { limits?: Partial<ParsingLimits>; signal?: AbortSignal } = {},
): Promise<ParseResult> {
  return await parseDocument(await write(name, content), chunking, options)
}

const headings = ({ chunks }: ParseResult): (string | null)[] => chunks.map(({ heading }) => heading)

t.test('Markdown keeps its markup', async (t) => {
  const source =
    '\ufeff# Events\r\n\r\nKept for **30** days.\r\n\r\n## [Types](x.md) of `event`\r\n\r\nMany.\0\r'
  const result = await parse('events.md', source)
  t.equal(result.text, '# Events\n\nKept for **30** days.\n\n## [Types](x.md) of `event`\n\nMany.\n')
  t.same(headings(result), ['Events', 'Events › Types of event'])
  t.equal(result.pages, null)
  t.ok(
    result.chunks.every(
      ({ start, end, text, page }) => result.text.slice(start, end) === text && page === null,
    ),
  )
})

t.test('HTML becomes the text that a reader sees', async (t) => {
  const result = await parse(
    'page',
    `<!doctype html><head><title>Site</title><style>p { color: red }</style></head><nav>Home</nav>
    <main><h1>Guide</h1><p>One <b>bold</b>&nbsp;word<br>and a <a href="x">link</a>.
    <ul><li>first<li><p>second</ul>
    <h2>Plans</h2><table><tr><th>Plan<th>Price<tr><td>Free<td><p>0</table><pre>a\n  b</pre>
    <p hidden>no</p><script>no</script></main><footer>Imprint</footer>`,
  )
  t.equal(
    result.text,
    'Guide\n\nOne bold word\nand a link.\n\n- first\n- second\n\nPlans\n\nPlan | Price\nFree | 0\n\na\n  b',
  )
  t.same(headings(result), ['Guide', 'Guide › Plans'])
})

t.test(
  'the title of a page without a heading becomes its heading, and a page of navigation only has text',
  async (t) => {
    t.match(await parse('a.html', '<html><title>Opening hours</title><p>Nine to five.'), {
      text: 'Opening hours\n\nNine to five.',
      chunks: [{ heading: 'Opening hours' }],
    })
    t.match(await parse('a.html', '<html><nav><a href=x>Products</a></nav>'), { text: 'Products' })
  },
)

t.test('a CSV row names the column of each value', async (t) => {
  t.equal(
    (await parse('a.csv', 'Name;Born;Note\n"Lovelace; Ada";1815;"wrote\nnotes"\nTuring;1912;\n')).text,
    'Name: Lovelace; Ada; Born: 1815; Note: wrote notes\nName: Turing; Born: 1912',
  )
  t.equal((await parse('a.csv', '1,2\n3,4\n')).text, '1; 2\n3; 4', 'a first row of numbers is not a header')
})

t.test('JSON becomes lines with their paths, and numbers keep their spelling', async (t) => {
  const { text } = await parse(
    'a.json',
    '{"plans":[{"name":"Free","price":0},{"name":"Team","price":20.50}],"id":12345678901234567890,' +
      '"a":{"b":{"c":[1,2]}, "d":{"e":{"f":true}}}}',
  )
  t.equal(
    text,
    'plans › 1: name: Free; price: 0\nplans › 2: name: Team; price: 20.50\n' +
      'id: 12345678901234567890\na › b: c: 1, 2\na › d › e: f: true',
  )
})

t.test('nested values of a JSON object do not separate its plain values', async (t) => {
  const { text } = await parse(
    'a.json',
    '{"people":[{"name":"Grace","address":{"city":"Arlington"},"salary":2235,"languages":["COBOL"]},' +
      '{"name":"Ada"}],"version":2,"by":"payroll"}',
  )
  t.equal(
    text,
    'people › 1: name: Grace; salary: 2235; languages: COBOL\npeople › 1 › address: city: Arlington\n' +
      'people › 2: name: Ada\nversion: 2; by: payroll',
  )
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`field${i}`, `value ${i}`]))
  t.match(
    (await parse('a.json', JSON.stringify({ ...many, inner: { a: { b: 1 } } }))).text,
    /^field0: value 0\nfield1: value 1\n/,
    'but a record that is too long is split',
  )
})

t.test('no chunk splits a CSV or JSON record', async (t) => {
  const duties = 'International communication, professional responsibilities. '
  const people = Array.from({ length: 60 }, (_, i) => ({
    id: i,
    name: `Person ${i}. Dr.`,
    note: `Hired in ${1990 + i}. ${duties.repeat(i % 7 === 0 ? 18 : 1)}`.trim(),
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
    const { text, chunks } = await parse(name, source)
    const lines = text.split('\n')
    if (name.endsWith('.csv'))
      t.ok(lines.length === 60 && lines.some(({ length }) => length > 1_000), 'some records are long')
    t.ok(chunks.length > 10)
    for (const chunk of chunks)
      t.ok(
        chunk.text.split('\n').every((line) => lines.includes(line)),
        chunk.text,
      )
  }
  const wide = await parse('wide.csv', `a,b\n1,"${'word '.repeat(600)}"\n2,short\n`)
  t.ok(
    wide.chunks.length > 2 && wide.chunks.at(-1)!.text.endsWith('a: 2; b: short'),
    'a record that exceeds a chunk is split',
  )
})

t.test('a PDF is parsed page by page, and divided words are joined', async (t) => {
  const result = await parse(
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
  const { text, pages, chunks } = result
  t.equal(
    text,
    'Annual report\n\nThe company had a good year, and it is an example\nof how things can go. It is ' +
      'well-known,\nand well-known things last.\n\nOutlook\n\nNext year will be better.\n\n\n\n' +
      'The third page.',
  )
  t.same(headings(result), ['Annual report', 'Annual report › Outlook'])
  t.equal(pages?.length, 3)
  t.equal(text.slice(pages![2]), 'The third page.')
  t.same(
    chunks.map(({ page }) => page),
    [1, 1],
  )
})

t.test('DOCX keeps headings and tables', async (t) => {
  const result = await parse(
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
    result.text,
    'Handbook\n\nLeave\n\nEveryone has 30 days & more.\n\nName | Days\nAda | 30\n\nIllness\n\nCall in.',
  )
  t.same(headings(result), ['Handbook', 'Leave', 'Leave › Illness'])
})

t.test('the bytes determine the type of a document, not its name', async (t) => {
  t.match(await parse('a.txt', pdf([['A page.']])), { text: 'A page.', pages: [0] })
  t.match(await parse('a.pdf', docx(paragraph('A paragraph.'))), { text: 'A paragraph.' })
  t.match(await parse('a.json', '# A heading\n'), { text: '# A heading\n' })
  t.match(await parse('README.md', '<p align="center">Logo</p>\n\n# Name\n'), {
    text: '<p align="center">Logo</p>\n\n# Name\n',
    chunks: [{}, { heading: 'Name' }],
  })
})

t.test('the charset of a text is detected', async (t) => {
  const text = 'Grüße – naïve café'
  const encodings: Record<string, Buffer> = {
    'UTF-8': Buffer.from(text),
    'UTF-8 with a byte order mark': Buffer.from(`\ufeff${text}`),
    'UTF-16LE': Buffer.from(`\ufeff${text}`, 'utf16le'),
    'UTF-16BE': Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    'windows-1252': Buffer.from(text.replace('–', '\x96'), 'latin1'),
  }
  for (const [name, bytes] of Object.entries(encodings))
    t.equal((await parse('a.txt', bytes)).text, text, name)
  t.equal(
    (
      await parse(
        'a.html',
        Buffer.concat([
          Buffer.from('<html><meta charset="windows-1251"><p>'),
          Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
        ]),
      )
    ).text,
    'Привет',
    'the charset that an HTML page declares',
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

t.test('the language of a text is a configuration of PostgreSQL, or simple', async (t) => {
  // Calls the detection directly, without a parser process for each text.
  const { detectLanguage } = await import('../../services/ai/parsing/detect-language.ts')
  for (const [language, text] of Object.entries(languages)) t.equal(detectLanguage(text), language)
  for (const text of [
    'Faktury są przechowywane przez dziesięć lat.',
    '発票は十年間保存されます。',
    '12 34 56',
    '',
  ])
    t.equal(detectLanguage(text), 'simple', text)
  t.equal((await parse('a.txt', languages['german'])).language, 'german')
})

t.test('the sandboxed process gives the same result for each type', async (t) => {
  const documents: Record<string, Buffer | string> = {
    'a.txt': languages['german'],
    'a.md': '# Events\n\nKept for **30** days.\n',
    'a.html': '<title>Hours</title><p>Nine to five.',
    'a.csv': 'Name,Born\nAda,1815\n',
    'a.json': '{"name":"Ada","born":1815}',
    'a.pdf': pdf([[{ text: 'Report', size: 24 }, 'The first page.'], ['The second page.']]),
    'a.docx': docx(paragraph('Handbook', 'H1') + table([['Ada', '30']])),
    'a.xlsx': xlsx([{ name: 'S', rows: '<row><c><v>1</v></c></row>' }]),
    'a.pptx': zip(pptxParts([shape('Report', 'title')])),
    'a.epub': zip(epubParts({ a: '<h1>One</h1>' })),
    'a.odt': odt('<text:p>Handbook</text:p>'),
    'a.rtf': '{\\rtf1 Handbook\\par}',
    'a.eml': 'Subject: Hours\n\nNine to five.',
    'a.msg': msg({ '0037': 'Hours', '1000': 'Nine to five.' }),
    'a.jsonl': '{"name":"Ada"}\n',
    'old.txt': encodeAs('koi8-r', 'Правила возврата.'),
  }
  for (const [name, content] of Object.entries(documents))
    t.strictSame(await parseInSandbox(name, content), await parse(name, content), name)
  await t.rejects(parseInSandbox('a.json', '{'), { code: 'damaged' })
})

const slowPdf = (): Buffer =>
  pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << /Font << /F1 3 0 R >> >> ' +
      '/Contents 5 0 R >>',
    packedStream(`BT /F1 12 Tf ${'(a) Tj '.repeat(8_000_000)} ET`),
  ])

t.test('parsing stops at its limits, and when it is aborted', async (t) => {
  const exceeded: [Partial<ParsingLimits>, string][] = [
    [{ seconds: 0.05 }, 'too_slow'],
    [{ memoryBytes: 30 * 2 ** 20 }, 'too_much_memory'],
    [{ outputBytes: 10 }, 'too_large'],
    [{ inputBytes: 10 }, 'too_large'],
  ]
  for (const [limits, code] of exceeded)
    await t.rejects(parseInSandbox('a.txt', 'More than ten bytes.', { limits }), { code }, code)
  const reason = new Error('aborted')
  const controller = new AbortController()
  const aborted = t.rejects(parseInSandbox('a.pdf', slowPdf(), { signal: controller.signal }), reason)
  await waitUntil(() => !existsSync('/proc/self/cmdline') || parserProcesses().length > 0)
  controller.abort(reason)
  await aborted
  await t.rejects(parseInSandbox('a.txt', 'text', { signal: AbortSignal.abort(reason) }), reason)
  t.same(parserProcesses(), [])
})

t.test(
  'the parser process exits when its parent dies',
  { skip: !existsSync('/proc/self/cmdline') },
  async () => {
    writeFileSync(join(folder, 'slow.pdf'), slowPdf())
    const module = fileURLToPath(new URL('../../services/ai/parsing/parse.ts', import.meta.url))
    const source = JSON.stringify({ path: join(folder, 'slow.pdf'), name: '', contentType: '' })
    const code = `import { parseDocument } from ${JSON.stringify(module)}
      await parseDocument(${source}, { maxTokens: 200, overlapTokens: 0 })`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' })
    await waitUntil(() => parserProcesses(parent.pid).length > 0)
    const [parser] = parserProcesses(parent.pid)
    parent.kill('SIGKILL')
    const state = (): string => {
      try {
        return readFileSync(`/proc/${parser}/stat`, 'latin1')
      } catch {
        return 'exited'
      }
    }
    await waitUntil(() => state() === 'exited' || / Z /.test(state()), 'the parser process to exit', 120_000)
  },
)

t.test('without a free file descriptor a document is refused and the process goes on', async (t) => {
  const module = new URL('../../infra/sandbox/process.ts', import.meta.url).href
  const code = `
    import { openSync } from 'node:fs'
    const { runSandboxed } = await import(${JSON.stringify(module)})
    const program = { path: 'none', readable: [] }
    const limits = { seconds: 10, memoryBytes: 2 ** 28, answerBytes: 2 ** 20 }
    const document = openSync('/dev/null')
    const parse = () => runSandboxed(program, document, [], limits).catch((error) => error)
    await parse()
    try {
      for (;;) openSync('/dev/null')
    } catch {}
    console.log((await parse()).code)`
  const { stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', code],
    { encoding: 'utf8' },
  )
  t.equal(stdout, 'EMFILE\n', stderr)
})

t.test('a compromised parser has no access to files, processes or the network', async (t) => {
  const sandbox = new URL('../../infra/sandbox/network.ts', import.meta.url).href
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
  const code = `import { Socket } from 'node:net'; globalThis.socket = new Socket()
    const { blockNetwork } = await import(${JSON.stringify(sandbox)}); blockNetwork()
    const outcomes = {}; ${Object.entries(attempts)
      .map(
        ([name, attempt]) =>
          `try { ${attempt}; outcomes.${name} = 'done' } catch { outcomes.${name} = 'refused' }`,
      )
      .join('\n')}
    console.log(JSON.stringify(outcomes))`
  const { command, args } = sandboxCommand(parserProgram, defaultLimits, ['--input-type=module', '-e', code])
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: {} })
  t.same(
    JSON.parse(stdout || JSON.stringify({ stderr })),
    Object.fromEntries(Object.keys(attempts).map((name) => [name, 'refused'])),
  )
  t.notOk(readdirSync(folder).includes('written'))
})

t.test('a missing file is not an error of the document', async (t) => {
  await t.rejects(parseDocument({ path: join(folder, 'none'), name: '', contentType: '' }, chunking), {
    code: 'ENOENT',
  })
})
