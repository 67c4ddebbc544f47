// The shapes of Word documents that earlier versions read in part.
import t from 'tap'
import { docx, docxParts, paragraph, wordNamespace, zip } from '../support/ai/documents.ts'
import { createTestParser } from '../support/ai/parse.ts'

const parse = createTestParser(t)

const namespaces =
  'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" ' +
  'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" ' +
  'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" ' +
  'xmlns:v="urn:schemas-microsoft-com:vml" ' +
  'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" ' +
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'

function word(body: string, more: { name: string; content: string }[] = []): Buffer {
  const parts = docxParts(body).map((part) =>
    part.name === 'word/document.xml'
      ? { ...part, content: String(part.content).replace('<w:document ', `<w:document ${namespaces} `) }
      : part,
  )
  return zip([...parts, ...more])
}

const box = (text: string): string =>
  `<w:drawing><wp:inline><a:graphic><a:graphicData><wps:wsp><wps:txbx><w:txbxContent>${paragraph(text)}` +
  '</w:txbxContent></wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:inline></w:drawing>'
const run = (content: string): string => `<w:p><w:r>${content}</w:r></w:p>`

t.test('a text box is read with and without a copy for old versions of Word, once', async (t) => {
  const choice = (fallback: string): string =>
    `<mc:AlternateContent><mc:Choice Requires="wps">${box('Call &lt;112&gt;')}</mc:Choice>${fallback}` +
    '</mc:AlternateContent>'
  const vml =
    `<mc:Fallback><w:pict><v:shape><v:textbox><w:txbxContent>${paragraph('Call &lt;112&gt;')}` +
    `</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback>`
  for (const content of [box('Call &lt;112&gt;'), choice(''), choice('<mc:Fallback/>'), choice(vml)]) {
    const { text } = await parse('a.docx', word(paragraph('Safety sheet.') + run(content)))
    t.equal(text, 'Safety sheet.\n\nCall <112>', content)
  }
})

t.test('an equation becomes text', async (t) => {
  const text = (value: string): string => `<m:r><m:t>${value}</m:t></m:r>`
  const equations: Record<string, string> = {
    'i=c*0.035': text('i=c*0.035'),
    '(a+b)/2': `<m:f><m:num>${text('a+b')}</m:num><m:den>${text('2')}</m:den></m:f>`,
    'x^2': `<m:sSup><m:e>${text('x')}</m:e><m:sup>${text('2')}</m:sup></m:sSup>`,
    '√(x_1)':
      `<m:rad><m:deg/><m:e><m:sSub><m:e>${text('x')}</m:e>` +
      `<m:sub>${text('1')}</m:sub></m:sSub></m:e></m:rad>`,
    '[1, 2]':
      `<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/>` +
      `</m:dPr><m:e>${text('1')}</m:e><m:e>${text('2')}</m:e></m:d>`,
    '∑_(i=1)^n i':
      `<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${text('i=1')}` +
      `</m:sub><m:sup>${text('n')}</m:sup><m:e>${text('i')}</m:e></m:nary>`,
  }
  for (const [linear, xml] of Object.entries(equations)) {
    const body = `<w:p><w:r><w:t xml:space="preserve">Formula: </w:t></w:r><m:oMath>${xml}</m:oMath></w:p>`
    t.equal((await parse('a.docx', word(body))).text, `Formula: ${linear}`)
  }
})

t.test('footnotes are read, and comments are left out', async (t) => {
  const relations =
    '<?xml version="1.0"?><Relationships' +
    ' xmlns="http://schemas.openxmlformats.org/package/2006/relationships">' +
    ['footnotes', 'comments']
      .map(
        (name) =>
          `<Relationship Id="${name}"` +
          ` Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${name}"` +
          ` Target="${name}.xml"/>`,
      )
      .join('') +
    '</Relationships>'
  const notes =
    `<w:footnotes xmlns:w="${wordNamespace}"><w:footnote` +
    ` w:id="1">${paragraph('See section 9.')}</w:footnote></w:footnotes>`
  const comments =
    `<w:comments xmlns:w="${wordNamespace}"><w:comment` +
    ` w:id="1">${paragraph('Is this so?')}</w:comment></w:comments>`
  const body =
    '<w:p><w:r><w:t>Thirty days.</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r>' +
    '<w:r><w:commentReference w:id="1"/></w:r></w:p>'
  const { text } = await parse(
    'a.docx',
    word(body, [
      { name: 'word/_rels/document.xml.rels', content: relations },
      { name: 'word/footnotes.xml', content: notes },
      { name: 'word/comments.xml', content: comments },
    ]),
  )
  t.match(text, /^Thirty days\.[^]*See section 9\.$/)
  t.notMatch(text, /Is this so/)
})

t.test('the text of merged cells is in every row that they span', async (t) => {
  const cell = (text: string, properties = ''): string =>
    `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`
  const row = (...cells: string[]): string => `<w:tr>${cells.join('')}</w:tr>`
  const body =
    '<w:tbl>' +
    row(cell('Plan'), cell('Price', '<w:gridSpan w:val="2"/>')) +
    row(cell('Team', '<w:vMerge w:val="restart"/>'), cell('month'), cell('20 EUR')) +
    row(cell('', '<w:vMerge/>'), cell('year'), cell('200 EUR')) +
    row(cell('Free'), cell('always'), cell('0 EUR')) +
    '</w:tbl>'
  t.equal(
    (await parse('a.docx', docx(body))).text,
    'Plan | Price\nTeam | month | 20 EUR\nTeam | year | 200 EUR\nFree | always | 0 EUR',
  )
  const html =
    '<table><tr><td rowspan=2>A<td>1<td rowspan=3>x<tr><td>2' +
    '<tr><td>B<td>3</table><p>End<table><tr><td>C</table>'
  t.equal((await parse('a.html', html)).text, 'A | 1 | x\nA | 2 | x\nB | 3 | x\n\nEnd\n\nC')
})
