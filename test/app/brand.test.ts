// BRAND_NAME, BRAND_COLOR and BRAND_LOGO: on pages, in the console, in e-mails and on receipts, with texts
// that can be read whatever the color.
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../infra/config/config.ts'
import { loadSharp } from '../../infra/sharp.ts'
import { brandOf, contrast } from '../../infra/html/brand.ts'
import { openSmtp } from '../support/auth/mails.ts'
import { createClient } from '../support/http/client.ts'
import { cards, createCatalog, createCheckout, payWithCard } from '../support/operations/catalog-fixtures.ts'
import { newEmail } from '../support/operations/operation-fixtures-auth.ts'
import { startWorkingServer } from '../support/server/working-server.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('texts can be read in any color, and a color that can be read stays as it is', async (t) => {
  const steps = ['00', '33', '66', '99', 'cc', 'ff']
  const colors = steps.flatMap((r) => steps.flatMap((g) => steps.map((b) => `#${r}${g}${b}`)))
  const poor: string[] = []
  for (const brandColor of colors) {
    const { css } = brandOf({ brandName: null, brandColor, brandLogo: null })
    const pairs = Object.fromEntries(
      [...css.matchAll(/--([\w-]+):light-dark\((#\w{6}),(#\w{6})\)/g)].map(([, name, ...both]) => [
        name,
        both,
      ]),
    )
    for (const [i, grounds] of [
      ['#ffffff', '#f7f8fa'],
      ['#15181e', '#20252d'],
    ].entries()) {
      const [accent, on, over, chosen] = ['accent', 'on-accent', 'accent-over', 'chosen'].map(
        (name) => pairs[name][i],
      )
      const all = [...grounds, chosen].map((ground) => contrast(accent, ground))
      if (Math.min(...all, contrast(on, accent), contrast(on, over)) < 4.5) poor.push(`${brandColor} ${i}`)
    }
  }
  t.strictSame(poor, [])
  t.equal(brandOf({ brandName: null, brandColor: '#7c3aed', brandLogo: null }).light, '#7c3aed')
})

t.test('a setting that cannot be used is refused at start', async (t) => {
  const folder = t.testdir({ 'logo.txt': 'a logo', 'large.svg': `<svg>${'x'.repeat(70_000)}</svg>` })
  const refused: Array<[Record<string, string>, RegExp]> = [
    [{ BRAND_COLOR: 'red' }, /BRAND_COLOR must be a color such as #1d4ed8/],
    [{ BRAND_COLOR: '#12345g' }, /BRAND_COLOR must/],
    [{ BRAND_NAME: 'a'.repeat(61) }, /BRAND_NAME must be a name of at most 60 characters/],
    [{ BRAND_LOGO: join(folder, 'none.svg') }, /BRAND_LOGO cannot be read/],
    [{ BRAND_LOGO: join(folder, 'logo.txt') }, /BRAND_LOGO must be the path of an SVG or PNG file/],
    [{ BRAND_LOGO: join(folder, 'large.svg') }, /BRAND_LOGO must be a file of at most 65536 bytes/],
  ]
  for (const [env, message] of refused) t.throws(() => readConfig({ ...process.env, ...env }), { message })
})

t.test('pages, the console, e-mails and receipts have the name, the color and the logo', async (t) => {
  const logo = join(t.testdir({}), 'logo.svg')
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 18 18"><circle cx="9" cy="9" r="9"/></svg>'
  writeFileSync(logo, svg)
  const smtp = await openSmtp(t)
  // As when the server has shown a picture of a user before.
  const sharp = await loadSharp()
  const env = { BRAND_NAME: 'Acme & Sons', BRAND_COLOR: '#7c3aed', BRAND_LOGO: logo, SMTP_URL: smtp.url }
  const server = await startWorkingServer(t, { env: { ...env, SIGN_IN_URL: 'https://app.example.com/in' } })
  const image = `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`
  const accept = { accept: 'text/html' }

  for (const path of ['/sign-in', '/docs/errors']) {
    const response = await fetch(server.url + path, { headers: accept })
    const text = await response.text()
    t.match(text, /<title>[^<]*Acme &amp; Sons<\/title>/, path)
    const style = /<style>([^]*?)<\/style>/.exec(text)![1]
    t.match(style, '--accent:light-dark(#7c3aed,')
    const policy = response.headers.get('content-security-policy')
    t.match(policy, `'sha256-${hash('sha256', style, 'base64')}'`, 'the policy allows this style')
    t.match(text, `<link rel="icon" href="${image}"`)
  }
  t.match(await (await fetch(`${server.url}/sign-in`, { headers: accept })).text(), `<img src="${image}"`)

  const console = await (await fetch(`${server.url}/console`)).text()
  t.match(console, '<meta name="application-name" content="Acme &amp; Sons" />')
  const sheet = /href="(\/console\/[^"]+\.css)"/.exec(console)![1]
  t.match(await (await fetch(server.url + sheet)).text(), '--accent:light-dark(#7c3aed,')
  const former = await fetch(server.url + sheet.replace(/[^/]+\/style/, 'former/style'))
  t.equal(former.status, 404, 'no page in place of a file of a former version')
  t.match(await former.json(), { error: { code: 'NOT_FOUND' } })
  const icon = await fetch(`${server.url}/favicon.ico`)
  t.equal(await icon.text(), svg)
  t.equal(icon.headers.get('content-type'), 'image/svg+xml')
  t.match(await (await fetch(`${server.url}/docs`)).text(), '<title>API reference · Acme &amp; Sons</title>')

  const person = await server.person({ email: newEmail() })
  const asked = await createClient(server.url, null).post('/auth/magic-links', { email: person.email })
  t.equal(asked.status, 202)
  await waitUntil(async () => smtp.received.length > 0, 'the e-mail')
  const mail = smtp.received[0].text.replaceAll('=\r\n', '').replaceAll('=3D', '=').replaceAll('=20', ' ')
  t.match(mail, '-- \r\nAcme & Sons')
  t.match(mail, /color:#7c3aed"><img src="cid:logo"[^>]*>Acme &amp; Sons<\/p>/)
  t.match(mail, /Content-ID: <logo>/i)
  t.match(mail, Buffer.from('89504e470d0a1a0a', 'hex').toString('base64').slice(0, 10), 'the logo as a PNG')
  await t.rejects(sharp(Buffer.from(svg)).metadata(), { message: /unsupported image format/ }, 'of others')

  const catalog = await createCatalog(server)
  const items = [{ price_id: catalog.price, quantity: 1 }]
  const { id, order_id: order } = await createCheckout(person, { items })
  await payWithCard(server, id, cards.succeeds)
  const receipt = await person.client.get(`/payments/orders/${order}/receipt?format=html`)
  t.match(receipt.text, `<img src="${image}"`)
  t.match(receipt.headers.get('content-security-policy'), 'img-src data:')
  const pdf = await person.client.get(`/payments/orders/${order}/receipt?format=pdf`)
  t.match(pdf.bytes.toString('latin1'), '/Subtype /Image')
})
