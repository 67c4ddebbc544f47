// Workbooks, presentations, books, messages, source code and JSON lines: what is read of each.
import t from 'tap'
import { zip } from '../support/ai/documents.ts'
import { encodeAs } from '../support/ai/encode.ts'
import {
  epubParts,
  msg,
  odt,
  pptxParts,
  relationships,
  shape,
  xlsx,
  xlsxParts,
} from '../support/ai/office.ts'
import { createTestParser } from '../support/ai/parse.ts'

const parse = createTestParser(t)

t.test('a workbook has its visible sheets, with dates, percentages and stored values', async (t) => {
  const rows =
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1' +
    '</v></c><c r="D1" t="inlineStr"><is><t>Share</t></is></c></row>' +
    '<row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2" s="1"><v>45992</v></c><c r="C2" t="b"><v>1</v></c>' +
    '<c r="D2" s="2"><f>A1/B1</f><v>0.035</v></c></row>' +
    '<row r="3"><c r="A3" t="str"><v>A &amp; B</v></c><c r="B3" s="3">' +
    '<v>45992.5</v></c><c r="D3"><v>0.30000000000000004</v></c></row>'
  const bytes = xlsx(
    [
      { name: 'Orders', rows },
      { name: 'Secret', rows, state: 'hidden' },
      { name: 'Empty', rows: '' },
    ],
    ['Product', 'Sold on', 'Umbrella'],
    'ms-excel.sheet.macroEnabled',
  )
  const { text, chunks, charset } = await parse('a.xlsm', bytes)
  t.equal(
    text.split('\n\n').slice(0, 2).join('\n\n'),
    'Orders\n\nProduct; Sold on; Share\nUmbrella; 2025-12-01; true; 3.5%\nA & B; 2025-12-01 12:00; 0.3',
  )
  t.notMatch(text, /Secret/)
  t.equal(chunks[0].heading, 'Orders')
  t.equal(charset, null)
  const header = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
  const named = xlsx([{ name: 'S', rows: `${header}<row><c><v>1</v></c><c><v>2</v></c></row>` }], ['a', 'b'])
  t.match((await parse('a.xlsx', named)).text, /a: 1; b: 2/, 'columns have names')
})

t.test('a presentation has one page per slide, with its title, tables and notes', async (t) => {
  const cells = (row: string[]): string =>
    `<a:tr>${row.map((cell) => `<a:tc><a:p><a:r><a:t>${cell}</a:t></a:r></a:p></a:tc>`).join('')}</a:tr>`
  const slides = [
    shape('Quarterly report', 'ctrTitle') + shape('Ada\nGrace') + shape('3', 'sldNum'),
    `<p:graphicFrame><a:tbl>${cells(['Plan', 'Price'])}${cells(['Team', '20'])}</a:tbl></p:graphicFrame>` +
      shape('Prices', 'title') +
      `<mc:AlternateContent><mc:Choice>${shape('Once')}</mc:Choice>` +
      `<mc:Fallback>${shape('Once')}</mc:Fallback></mc:AlternateContent>`,
  ]
  const { text, pages, chunks } = await parse(
    'a.pptx',
    zip(pptxParts(slides, { 1: shape('Say hello.', 'body') })),
  )
  t.equal(text, 'Quarterly report\n\nAda\nGrace\n\nPrices\n\nPlan | Price\nTeam | 20\n\nOnce\n\nSay hello.')
  t.equal(text.slice(pages![1], pages![1] + 6), 'Prices')
  t.same(
    chunks.map(({ heading, page }) => [heading, page]),
    [
      ['Quarterly report', 1],
      ['Prices', 2],
    ],
  )
})

t.test('an OpenDocument text has headings, lists, tables and notes, without comments', async (t) => {
  const cell = (text: string, span = ''): string =>
    `<table:table-cell ${span}><text:p>${text}</text:p></table:table-cell>`
  const body =
    '<text:h text:outline-level="1">Handbook</text:h>' +
    '<text:p>Thirty<text:s/>days<office:annotation><text:p>Really?</text:p></office:annotation>' +
    '<text:note><text:note-citation>1</text:note-citation><text:note-body>' +
    '<text:p>At most</text:p></text:note-body></text:note>.</text:p>' +
    '<text:list><text:list-item><text:p>first</text:p></text:list-item></text:list>' +
    `<table:table><table:table-row>${cell('Plan', 'table:number-rows-spanned="2"')}${cell('1 &lt; 2')}` +
    `</table:table-row>` +
    `<table:table-row><table:covered-table-cell/>${cell('two')}</table:table-row></table:table>`
  const { text, chunks } = await parse('a.odt', odt(body))
  t.match(text, /^Handbook\n\nThirty days\s\(\s*At most\s*\)\s?\.\n\n- first\n\nPlan \| 1 < 2\nPlan \| two$/)
  t.equal(chunks[0].heading, 'Handbook')
})

t.test('a book has its chapters in reading order', async (t) => {
  const chapters = {
    b: '<h1>One</h1><p>First.</p>',
    a: '<h1>Two</h1><p>Second.</p><script>no</script>',
    c: '',
  }
  const { text, chunks, warnings } = await parse('a.epub', zip(epubParts(chapters)))
  t.equal(text, 'One\n\nFirst.\n\nTwo\n\nSecond.')
  t.same(
    chunks.map(({ heading }) => heading),
    ['One', 'Two'],
  )
  t.match(warnings, [{ code: 'skipped_part' }], 'a chapter is missing')
})

t.test('RTF has text in its code pages, tables and notes, without pictures and hidden text', async (t) => {
  const rtf =
    '{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset0' +
    ' Arial;}{\\f1\\fcharset204 Arial;}{\\f2\\fcharset128 Gothic;}}' +
    '{\\*\\generator Word}{\\info{\\title No}}\\pard\\outlinelevel0 Handbook\\par' +
    "\\pard Gr\\'fc\\u223?e {\\f1 \\'d1\\'f0\\'ee\\'ea} " +
    "{\\f2 \\'82\\'a0} {\\v hidden}{\\pict 0102}\\emdash  end{\\footnote At most.}\\par" +
    '\\trowd\\intbl Plan\\cell Price\\cell\\row\\trowd Team\\cell 20\\cell\\row\\pard\\{brace\\}\\par}'
  const { text, chunks } = await parse('a.rtf', rtf)
  t.equal(text, 'Handbook\n\nGrüße Срок あ — end (At most.)\n\nPlan | Price\nTeam | 20\n{brace}')
  t.equal(chunks[0].heading, 'Handbook')
})

t.test('a message has its fields and its text, and names its attachments', async (t) => {
  const mail = Buffer.concat([
    Buffer.from(
      'From: =?utf-8?B?QWRhIEzDtnZlbGFjZQ==?= ' +
        '<ada@example.com>\r\nTo: grace@example.com\r\nSubject: Refund\r\n' +
        'Date: Fri, 27 Nov 2026 10:00:00 +0000\r\nMIME-Version:' +
        ' 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n' +
        '--x\r\nContent-Type: text/plain; charset=windows-1251\r\nContent-Transfer-Encoding: 8bit\r\n\r\n',
    ),
    encodeAs('windows-1251', 'Срок возврата.'),
    Buffer.from(
      '\r\n--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=bill.pdf\r\n' +
        'Content-Transfer-Encoding: base64\r\n\r\nJVBERi0=\r\n--x--\r\n',
    ),
  ])
  const { text, warnings } = await parse('a.eml', mail)
  t.equal(
    text,
    'Subject: Refund\nFrom: Ada Lövelace <ada@example.com>\nTo: grace@example.com\n' +
      'Date: 2026-11-27T10:00:00.000Z\nAttachments: bill.pdf\n\nСрок возврата.',
  )
  t.match(warnings, [{ code: 'skipped_part' }])
  const html = 'Subject: Hours\nContent-Type: text/html\n\n<p>Nine to <b>five</b></p><script>no</script>'
  t.match((await parse('a.eml', html)).text, /^Subject: Hours\n\nNine to five$/)
})

t.test('a message of Outlook has its fields and its text', async (t) => {
  const bytes = msg({ '0037': 'Rückgabe', '0C1A': 'Ada', '0C1F': 'ada@example.com', '1000': 'Dreißig Tage.' })
  t.match(
    (await parse('a.msg', bytes)).text,
    /^Subject: Rückgabe\nFrom: Ada <ada@example\.com>\n[^]*Dreißig Tage\.$/,
  )
  await t.rejects(
    parse('a.doc', Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(4000)])),
    { code: 'unsupported' },
    'an old Word document',
  )
})

t.test('source code keeps its lines, and JSON lines are records', async (t) => {
  const code = 'def refund(days):\n    """Thirty days."""\n    return days <= 30\n'
  t.equal((await parse('a.py', code)).text, code)
  t.equal(
    (await parse('a.jsonl', '{"name":"Ada","born":1815}\n\n{"name":"Grace","tags":["a","b"]}\n')).text,
    'name: Ada; born: 1815\nname: Grace; tags: a, b',
  )
  t.match(await parse('a.ndjson', '{"a":1}\n{"b":\n'), { text: 'a: 1', warnings: [{ code: 'skipped_part' }] })
  await t.rejects(parse('a.jsonl', '{"b":\n'), { code: 'damaged' })
})

t.test('nothing outside of the archive is read, and no encrypted chapter', async (t) => {
  const parts = xlsxParts([{ name: 'S', rows: '<row><c t="inlineStr"><is><t>here</t></is></c></row>' }])
  const external = parts.map((part) =>
    part.name === 'xl/_rels/workbook.xml.rels'
      ? {
          ...part,
          content: relationships({
            s0: ['worksheet', 'http://127.0.0.1/x.xml', 'External'],
            strings: ['sharedStrings', '../../../etc/passwd'],
          }),
        }
      : part,
  )
  await t.rejects(parse('a.xlsx', zip(external)), { code: 'damaged' })
  const drm = '<encryption><CipherReference URI="OPS/a.xhtml"/></encryption>'
  const book = zip(epubParts({ a: '<p>x' }, [{ name: 'META-INF/encryption.xml', content: drm }]))
  await t.rejects(parse('a.epub', book), { code: 'encrypted' })
})
