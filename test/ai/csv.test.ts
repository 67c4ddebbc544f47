// The shapes of CSV files: delimiters, quotes, headers, and what stands above a table.
import t from 'tap'
import { createTestParser } from '../support/ai/parse.ts'

const parse = createTestParser(t)

const shapes: [title: string, csv: string, text: string][] = [
  [
    'the delimiter hint of Excel is no row',
    'sep=;\r\nProduct;Refund days\r\nUmbrella;30\r\n',
    'Product: Umbrella; Refund days: 30',
  ],
  [
    'a delimiter hint names any character',
    '"sep=!"\nProduct!Days\nUmbrella!30',
    'Product: Umbrella; Days: 30',
  ],
  ['tabs', 'Product\tDays\nUmbrella, black\t30', 'Product: Umbrella, black; Days: 30'],
  ['bars', 'Product|Days\nUmbrella|30', 'Product: Umbrella; Days: 30'],
  ['carets', 'Product^Days\nUmbrella^30', 'Product: Umbrella; Days: 30'],
  [
    'quotes over lines with other delimiters inside',
    'Product;Note\nUmbrella;"black, long,\nheavy, ""new"""\nGloves;"a,b,\nc,d"',
    'Product: Umbrella; Note: black, long, heavy, "new"\nProduct: Gloves; Note: a,b, c,d',
  ],
  [
    'a title above the table is a line of its own',
    'Price list 2026;;\n\nProduct;Days;Note\nUmbrella;30;black\nGloves;14;',
    'Price list 2026\nProduct: Umbrella; Days: 30; Note: black\nProduct: Gloves; Days: 14',
  ],
  [
    'a first row with an address is no header',
    'Ada,ada@example.com\nGrace,grace@example.com',
    'Ada; ada@example.com\nGrace; grace@example.com',
  ],
  [
    'a first row whose values occur again is no header',
    'open,Berlin\nclosed,Bonn\nopen,Köln',
    'open; Berlin\nclosed; Bonn\nopen; Köln',
  ],
  ['a header alone is the text', 'Product;Days', 'Product; Days'],
  ['one column', 'Product\nUmbrella\nGloves', 'Product: Umbrella\nProduct: Gloves'],
]

for (const [title, csv, text] of shapes)
  t.test(`CSV: ${title}`, async (t) => {
    t.equal((await parse('a.csv', csv)).text, text)
  })
