// The charset of a text: declared with the file or inside it, by a byte order mark, or detected. The
// detection is measured in twelve encodings: of 128 samples it must read all long ones, and 98 % of all.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ParseResult } from '../../services/ai/parsing/parse.ts'
import { findCharset } from '../../services/ai/parsing/charset.ts'
import { parseInProcess } from '../support/ai/document-worker.ts'
import { encodeAs } from '../support/ai/encode.ts'

const folder = t.testdir({})
let count = 0

async function parse(name: string, bytes: Buffer, declaredType: string | null = null): Promise<ParseResult> {
  const path = join(folder, String(count++))
  writeFileSync(path, bytes)
  const source = { path, name, contentType: 'application/octet-stream', declaredType }
  return await parseInProcess(source, { maxTokens: 200, overlapTokens: 0 })
}

const texts: Record<string, string> = {
  polish:
    'Regulamin zwrotów. Klient może odstąpić od umowy w' +
    ' ciągu trzydziestu dni od otrzymania przesyłki. Koszt ' +
    'zwrotu towaru ponosi kupujący, chyba że produkt jest uszkodzony. Żądanie należy złożyć na piśmie; ' +
    'świadectwo gwarancji trzeba dołączyć.',
  czech:
    'Obchodní podmínky. Kupující může odstoupit od smlouvy do třiceti dnů od převzetí zásilky. Náklady na ' +
    'vrácení zboží hradí zákazník, pokud výrobek není poškozený. Žádost je nutné podat písemně; záruční ' +
    'list přiložte k balíku.',
  hungarian:
    'Szállítási feltételek. A vásárló a csomag átvételétől számított harminc napon belül elállhat a ' +
    'szerződéstől. A visszaküldés költségét a vevő viseli, kivéve ha a termék sérült. Köszönjük, hogy ' +
    'nálunk vásárolt.',
  russian:
    'Правила возврата. Покупатель может отказаться от договора в течение тридцати дней после получения ' +
    'посылки. Расходы на возврат товара несёт покупатель, если изделие не повреждено. Заявление подаётся в ' +
    'письменном виде.',
  ukrainian:
    'Правила повернення. Покупець може відмовитися від договору протягом тридцяти днів після отримання ' +
    'посилки. Витрати на повернення товару несе покупець, якщо виріб не пошкоджено.',
  german:
    'Rückgabebedingungen. Der Käufer kann innerhalb von' +
    ' dreißig Tagen nach Erhalt der Ware zurücktreten. Die ' +
    'Kosten trägt der Kunde, außer wenn das Produkt beschädigt ist. Größere Pakete müssen gut verpackt sein.',
  french:
    "Conditions de retour. L'acheteur peut se rétracter dans un délai de trente jours après réception du " +
    'colis. Les frais sont à la charge du client, sauf si le produit est abîmé. Les œuvres coûtent 25 €.',
  spanish:
    'Condiciones de devolución. El comprador puede desistir del contrato en treinta días. La petición debe ' +
    'presentarse por escrito. ¿Qué pasa con los envíos pequeños? El año próximo habrá cambios.',
  japanese:
    '返品規約。購入者は商品を受け取ってから三十日以内に契約を解除することができます。返送の費用は、商品が破損' +
    'している場合を除き、お客様の負担となります。カタカナのテストも含みます。',
  simplified:
    '退货规定。买方可以在收到货物后三十天内解除合同。除非产品损坏，退货费用由客户承担。申请必须以书面形式提出，' +
    '并附上保修卡。产品：雨伞，价格：三十元。',
  traditional:
    '退貨規定。買方可以在收到貨物後三十天內解除合約。除非產品損壞，退貨費用由客戶承擔。申請必須以書面形式提出，' +
    '並附上保固卡。產品：雨傘，價格：三十元。',
  korean:
    '반품 규정. 구매자는 상품을 받은 날부터 삼십 일 이내에 계약을 해제할 수 있습니다. 제품이 손상된 경우를 ' +
    '제외하고 반품 비용은 고객이 부담합니다.',
}

const languages: Record<string, string[]> = {
  'windows-1250': ['polish', 'czech', 'hungarian'],
  'windows-1251': ['russian', 'ukrainian'],
  'windows-1252': ['german', 'french', 'spanish'],
  'iso-8859-2': ['polish', 'czech', 'hungarian'],
  'iso-8859-15': ['german', 'french', 'spanish'],
  'koi8-r': ['russian'],
  shift_jis: ['japanese'],
  'euc-jp': ['japanese'],
  gb18030: ['simplified'],
  big5: ['traditional'],
  'euc-kr': ['korean'],
  'utf-16le': Object.keys(texts),
}

t.test('the charset of a text without a declaration is detected in twelve encodings', async (t) => {
  const missed: string[] = []
  let all = 0
  for (const [charset, names] of Object.entries(languages))
    for (const name of names)
      for (const length of [20, 60, 120, Infinity]) {
        const text = texts[name].slice(0, length)
        const bytes = encodeAs(charset, text)
        const found = await findCharset(bytes)
        all++
        if (new TextDecoder(found.name).decode(bytes) === text) continue
        missed.push(`${charset} ${name} ${length}: ${found.name}`)
      }
  t.comment(`${all - missed.length} of ${all} samples: ${missed.join(', ')}`)
  t.ok(missed.length <= 0.02 * all, missed.join(', '))
  t.same(
    missed.filter((name) => name.includes('Infinity')),
    [],
  )
})

t.test('a declared charset counts, unless the bytes are no text in it', async (t) => {
  const cyrillic = encodeAs('windows-1251', 'Срок')
  t.match(await parse('a.txt', cyrillic, 'text/plain; charset=windows-1251'), {
    text: 'Срок',
    charset: 'windows-1251',
    warnings: [],
  })
  t.match(await parse('a.txt', encodeAs('koi8-r', 'Срок'), 'text/plain;charset="KOI8-R"'), { text: 'Срок' })
  t.match(await parse('a.csv', encodeAs('gb18030', '雨伞,手套'), 'text/csv;charset=gbk'), {
    text: '雨伞; 手套',
  })
  t.match(await parse('a.txt', encodeAs('windows-1252', 'Grüße'), 'text/plain; charset=utf-8'), {
    text: 'Grüße',
    charset: 'windows-1252',
  })
  t.match(await parse('a.txt', Buffer.from('Grüße'), 'text/plain; charset=nonsense'), { charset: 'utf-8' })
  t.match(await parse('a.txt', Buffer.from('\ufeffGrüße'), 'text/plain; charset=windows-1252'), {
    text: 'Grüße',
    charset: 'utf-8',
  })
})

t.test('HTML, XML, CSS and source code declare their charset', async (t) => {
  const declarations: [string, string, string][] = [
    ['a.html', '<meta charset="koi8-r"><p>', 'koi8-r'],
    [
      'a.html',
      '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>',
      'windows-1251',
    ],
    ['a.xml', '<?xml version="1.0" encoding="ISO-8859-5"?><a>', 'iso-8859-5'],
    ['a.css', '@charset "windows-1251"; /* ', 'windows-1251'],
    ['a.py', '#!/usr/bin/python\n# -*- coding: koi8-r -*-\n# ', 'koi8-r'],
  ]
  for (const [name, start, charset] of declarations) {
    const result = await parse(name, encodeAs(charset, `${start}Срок`))
    t.match(result, { charset, text: /Срок/ }, start)
  }
  t.match(await parse('a.html', Buffer.from('<meta charset="windows-1252"><p>Grüße')), { charset: 'utf-8' })
})

t.test('UTF-16 without a byte order mark, and ISO-2022-JP, are recognized', async (t) => {
  const text = 'Name;Größe\nзонт;1\n'
  t.match(await parse('a.txt', Buffer.from(text, 'utf16le')), { text, charset: 'utf-16le' })
  t.match(await parse('a.txt', Buffer.from(text, 'utf16le').swap16()), { text, charset: 'utf-16be' })
  t.match(await parse('a.txt', Buffer.from('plain', 'utf16le')), { text: 'plain' })
  t.match(await parse('a.txt', Buffer.from(`Kept for ${'thirty '.repeat(9)}days.\0 \x01`)), {
    charset: 'utf-8',
  })
  t.match(await parse('a.txt', Buffer.from('\x1b$B$3$l\x1b(B', 'latin1')), { text: 'これ' })
})

t.test('a text says if its charset is uncertain and if some bytes are invalid', async (t) => {
  t.match(await parse('a.txt', Buffer.from([0xe9])), {
    charset: 'windows-1252',
    warnings: [{ code: 'uncertain_charset', pages: null }],
  })
  const damaged = Buffer.concat([Buffer.from('Grüße aus Köln. '.repeat(9)), Buffer.from([0xc3, 0x28])])
  t.match(await parse('a.txt', damaged), { charset: 'utf-8', warnings: [{ code: 'invalid_characters' }] })
})
