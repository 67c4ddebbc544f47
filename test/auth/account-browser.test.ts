// The pages of invitations and of the account in a real browser: a person links an account of an identity
// provider, follows the e-mail of an invitation, signs in, accepts, and removes a passkey and the linked
// account.
import type { Page } from 'playwright-core'
import t from 'tap'
import { readOutbox } from '../../services/mail/outbox.ts'
import { addAuthenticator, launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { assertAccessible } from '../support/browser/console-browser.ts'
import { startIdentityProvider } from '../support/auth/identity-provider.ts'
import { newEmail, password, setPassword } from '../support/operations/operation-fixtures-auth.ts'
import { waitUntil } from '../support/server/wait.ts'
import { startWorkingServer, type WorkingServer } from '../support/server/working-server.ts'

/** The link of the newest e-mail to an address, from the outbox. */
async function linkTo({ services }: WorkingServer, recipient: string, subject: string): Promise<string> {
  return await waitUntil(async () => {
    const mails = await readOutbox(services.database, services.cipher, 100)
    const mail = mails.find(
      (one) => one.recipient === recipient && one.subject === subject && one.text !== null,
    )
    return /http:\S+/.exec(mail?.text ?? '')?.[0]
  }, `the e-mail: ${subject}`)
}

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click()

/** Adds a passkey with the session of the browser, as a page of an application would. */
async function addPasskey(name: string): Promise<void> {
  const api = async (path: string, body?: unknown): Promise<any> => {
    const response = await fetch(`/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
    return await response.json()
  }
  const json = (globalThis as any).PublicKeyCredential
  const publicKey = json.parseCreationOptionsFromJSON(await api('/user/passkey-options'))
  const made = await (navigator as any).credentials.create({ publicKey })
  await api('/user/passkeys', { name, credential: made.toJSON() })
}

t.test('an invitation, a passkey and a linked account', { skip: skipWithoutBrowser }, async (t) => {
  const provider = await startIdentityProvider(t)
  const server = await startWorkingServer(t, {
    env: { OIDC_PROVIDERS: JSON.stringify([provider.setting]) },
    sends: false,
  })
  provider.allowCallbacks([`${server.url}/v1/auth/oidc/local/callback`])
  // Passkeys need the name of a host.
  const publicUrl = server.url.replace('127.0.0.1', 'localhost')
  await server.work({
    services: { ...server.services, config: { ...server.services.config, publicUrl } },
  })
  const { prisma } = server.services.database
  const owner = await server.person({ name: 'Grace Hopper' })
  const person = await server.person({ email: newEmail(), name: 'Ada Lovelace' })
  await setPassword(server, person.id)
  const browser = await launchBrowser(t)
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  const identities = () => prisma.identity.count({ where: { userId: person.id } })

  await t.test('an identity is linked after the person has agreed', async (t) => {
    provider.person = { sub: person.email, email: person.email, email_verified: true, name: 'Ada' }
    const begin = async (): Promise<void> => {
      await page.goto(`${server.url}/sign-in`)
      await page.getByRole('link', { name: 'Sign in with local' }).click()
      await page.getByRole('heading', { name: 'Link your account of local?' }).waitFor()
    }
    await begin()
    await page.getByText(person.email).waitFor()
    await assertAccessible(t, page, 'the consent')
    await page.getByRole('link', { name: 'Do not link it' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    t.equal(await identities(), 0)
    await begin()
    t.equal(await identities(), 0, 'not before the consent')
    await press(page, 'Link and sign in')
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    t.equal(await identities(), 1)
    await page.goto(`${server.url}/sign-in`)
    await page.getByRole('link', { name: 'Sign in with local' }).click()
    await press(page, 'Continue')
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
  })

  await t.test('the e-mail of an invitation leads to its page, by the sign-in', async (t) => {
    const { body: project } = await owner.client.post('/projects', { name: 'The <b>Analytical</b> Engine' })
    const invited = await owner.client.post(`/projects/${project.id}/members`, {
      email: person.email,
      role: 'editor',
    })
    t.equal(invited.status, 202)
    await page.goto(await linkTo(server, person.email, 'An invitation to a project'))
    await page.getByLabel('Email address').fill(person.email)
    await page.getByLabel('Password').fill(password)
    await press(page, 'Sign in')
    await page.getByRole('heading', { name: 'The <b>Analytical</b> Engine' }).waitFor()
    await page.getByText('Grace Hopper').waitFor()
    await page.getByText('editor').waitFor()
    await assertAccessible(t, page, 'the invitation')
    t.equal((await person.client.get(`/projects/${project.id}`)).status, 403)
    await press(page, 'Accept')
    await page.getByText('You have accepted the invitation.').waitFor()
    await assertAccessible(t, page, 'the accepted invitation')
    t.match((await person.client.get(`/projects/${project.id}`)).body, { your_role: 'editor' })
  })

  await t.test('an invitation to an organization is declined', async (t) => {
    const { body: organization } = await owner.client.post('/organizations', { name: 'Acme' })
    const path = `/organizations/${organization.id}/members`
    t.equal((await owner.client.post(path, { email: person.email, role: 'member' })).status, 201)
    await page.goto(await linkTo(server, person.email, 'An invitation to an organization'))
    await page.getByRole('heading', { name: 'Acme' }).waitFor()
    await press(page, 'Decline')
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    t.equal((await owner.client.get(path)).body.data.length, 1)
  })

  await t.test('the account page removes a passkey and unlinks an identity', async (t) => {
    await page.goto(`${publicUrl}/console`)
    await addAuthenticator(page)
    await page.evaluate(addPasskey, 'My phone')
    await page.goto(`${publicUrl}/account`)
    await page.getByText('My phone').waitFor()
    await assertAccessible(t, page, 'the account with all that can sign in')
    await press(page, 'Remove the passkey My phone')
    await page.getByText('My phone').waitFor({ state: 'detached' })
    t.equal(await prisma.passkey.count({ where: { userId: person.id } }), 0)
    await press(page, `Unlink local ${person.email}`)
    await page.getByText(`local: ${person.email}`).waitFor({ state: 'detached' })
    t.equal(await identities(), 0)
    t.equal(await page.getByText('None.', { exact: true }).count(), 2)
  })
})
