// The sign-in pages in a real browser: a person signs up, confirms by the e-mail, signs in with a password
// and a second factor, with a passkey, and with an identity provider, signs another browser out, and resets
// the password.
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { addAuthenticator, launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { createClient } from '../support/http/client.ts'
import { assertAccessible } from '../support/browser/console-browser.ts'
import { startIdentityProvider } from '../support/auth/identity-provider.ts'
import {
  codeOf,
  createOneTimeToken,
  newEmail,
  password,
  setPassword,
} from '../support/operations/operation-fixtures-auth.ts'
import type { TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { startWorkingServer } from '../support/server/working-server.ts'

/** The newest e-mail to an address, from the outbox. */
async function mailTo({ services }: TestServer, recipient: string, kind: string): Promise<string> {
  const { prisma } = services.database
  return await waitUntil(async () => {
    const mail = await prisma.mail.findFirst({
      where: { recipient, kind, status: 'kept' },
      orderBy: { id: 'desc' },
    })
    if (mail === null || mail.content === null) return false
    return (JSON.parse(services.cipher.decrypt(mail.content, mail.id)) as { text: string }).text
  })
}

const codeIn = (text: string): string => /plat_once_[\w-]+/.exec(text)![0]

/** A person who has signed up on the pages, and the page at /account. */
async function signUp(t: Test, server: TestServer, page: Page): Promise<string> {
  const email = newEmail()
  await page.goto(`${server.url}/sign-in`)
  await page.getByRole('link', { name: 'Create an account' }).click()
  await assertAccessible(t, page, 'the sign-up')
  await page.getByLabel('Full name').fill('Ada Lovelace')
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Look into your e-mail' }).waitFor()
  await assertAccessible(t, page, 'after the sign-up')
  const token = codeIn(await mailTo(server, email, 'sign_up'))
  await page.getByRole('link', { name: 'Confirm a new account' }).click()
  await page.getByLabel('Code of the e-mail').fill(token)
  await page.getByLabel('New password').fill('short')
  await page.getByRole('button', { name: 'Create the account' }).click()
  await page.getByRole('alert').getByText('Enter at least 8 characters.').waitFor()
  await page.getByLabel('New password').fill('password123')
  await page.getByRole('button', { name: 'Create the account' }).click()
  await page.getByRole('alert').getByText('This password is too common.').waitFor()
  await page.getByLabel('New password').fill(password)
  await page.getByRole('button', { name: 'Create the account' }).click()
  await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
  return email
}

/** A person whose account exists already, which costs less than a sign-up in the browser. */
async function personWithPassword(server: TestServer): Promise<string> {
  const { id, email } = await server.person({ name: 'Ada Lovelace', email: newEmail() })
  await setPassword(server, id)
  return email
}

async function fillSignIn(page: Page, email: string, secret = password): Promise<void> {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password').fill(secret)
}

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).first().click()

/** An access token of the person, to call the API in the test. */
async function tokenOf(server: TestServer, email: string): Promise<string> {
  const reply = await createClient(server.url, null).post('/auth/sessions', {
    method: 'password',
    email,
    password,
  })
  return reply.body.access_token
}

t.test('without a browser', async (t) => {
  const server = await startWorkingServer(t)
  const submit = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields),
      redirect: 'manual',
    })
  t.test('a form with a NUL is 400', async (t) => {
    for (const [path, fields] of [
      ['/sign-in', { email: 'a\0@b.co', password: 'x' }],
      ['/sign-up', { email: 'a@example.com', name: 'A\0' }],
      ['/account', { session: '\0' }],
    ] as const)
      t.equal((await submit(path, fields)).status, 400, path)
  })
  t.test('a page of another site cannot use a token here', async (t) => {
    const headers = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }
    t.equal((await submit('/sign-in/token', { kind: 'link', token: 'x' }, headers)).status, 403)
  })
  t.test('a token of an identity provider works in the browser that began only', async (t) => {
    const reply = await submit('/sign-in/token', { kind: 'oidc', token: `plat_once_${'a'.repeat(43)}` })
    t.equal(reply.status, 422)
    t.match(await reply.text(), 'did not begin in this browser')
  })
  t.test('the page of a link names the account', async (t) => {
    const { email } = await server.person()
    const token = await createOneTimeToken(server, 'link', { email })
    t.match(await (await fetch(`${server.url}/sign-in/token?kind=link&token=${token}`)).text(), email)
    const unknown = await (await fetch(`${server.url}/sign-in/token?error=constructor`)).text()
    t.match(unknown, 'The sign-in failed.')
  })
})

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const provider = await startIdentityProvider(t)
  const server = await startWorkingServer(t, {
    env: { OIDC_PROVIDERS: JSON.stringify([provider.setting]) },
  })
  provider.allowCallbacks([`${server.url}/v1/auth/oidc/local/callback`])
  const browser = await launchBrowser(t)
  const open = async (javaScriptEnabled = true): Promise<{ context: BrowserContext; page: Page }> => {
    const context = await browser.newContext({ javaScriptEnabled })
    t.teardown(() => context.close())
    return { context, page: await context.newPage() }
  }

  t.test('sign-up, sign-in with a second factor, and signing another browser out', async (t) => {
    const [{ page }, { page: second }] = [await open(), await open()]
    const email = await signUp(t, server, page)
    await assertAccessible(t, page, 'the account')
    await press(page, 'Sign out this browser')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await assertAccessible(t, page, 'the sign-in')

    const client = createClient(server.url, await tokenOf(server, email))
    const { secret } = (await client.post('/user/totp')).body
    const confirm = async () => (await client.post('/user/totp/confirm', { code: codeOf(secret, -1) })).status
    // The code is too old if a step of 30 seconds ends meanwhile.
    t.ok((await confirm()) === 200 || (await confirm()) === 200)
    await fillSignIn(page, email, 'a wrong password')
    await press(page, 'Sign in')
    await page.getByRole('alert').getByText('The email address or the password is wrong.').waitFor()
    t.equal(await page.getByLabel('Password').inputValue(), '', 'a password is not shown again')
    await fillSignIn(page, email)
    await press(page, 'Sign in')
    await page.getByRole('alert').waitFor()
    await assertAccessible(t, page, 'the sign-in with a code')
    await fillSignIn(page, email)
    await page.getByLabel('Code').fill(codeOf(secret))
    await press(page, 'Sign in')
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()

    await second.goto(`${server.url}/account`)
    await fillSignIn(second, email)
    await press(second, 'Sign in')
    await fillSignIn(second, email)
    await second.getByLabel('Code').fill(codeOf(secret, 1))
    await press(second, 'Sign in')
    await second.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    const others = page.locator('form', { hasNotText: 'This browser' })
    await page.reload()
    while ((await others.count()) > 0) {
      await others.first().getByRole('button').click()
      await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    }
    await second.reload()
    await second.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
  })

  t.test('a new password by e-mail', async (t) => {
    const { page } = await open()
    const email = await personWithPassword(server)
    await page.goto(`${server.url}/sign-in`)
    await fillSignIn(page, email)
    await press(page, 'Sign in')
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    const { page: second } = await open()
    await second.goto(`${server.url}/sign-in`)
    await second.getByRole('link', { name: 'Forgot your password?' }).click()
    await assertAccessible(t, second, 'the help')
    await second.getByLabel('Email address').fill(email)
    await press(second, 'Set a new password')
    const token = codeIn(await mailTo(server, email, 'password_reset'))
    await second.goto(`${server.url}/sign-in/token?kind=password_reset&token=${token}`)
    await second.locator('#password').fill(`${password} again`)
    await press(second, 'Set the password')
    await second.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await fillSignIn(page, email)
    await press(page, 'Sign in')
    await page.getByRole('alert').waitFor()
    await fillSignIn(page, email, `${password} again`)
    await press(page, 'Sign in')
    await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
  })

  t.test('a link by e-mail works once', async () => {
    const email = await personWithPassword(server)
    const { page: second } = await open(false)
    await second.goto(`${server.url}/sign-in/help`)
    await second.getByLabel('Email address').fill(email)
    await press(second, 'Sign in with a link')
    const token = codeIn(await mailTo(server, email, 'link'))
    const link = `${server.url}/sign-in/token?kind=link&token=${token}`
    await second.goto(link)
    await second.goto(link)
    await press(second, 'Sign in')
    await second.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    await second.goto(link)
    await press(second, 'Sign in')
    await second.getByRole('alert').getByText('The link is unknown, expired or was used before').waitFor()
  })

  t.test('an identity provider', async (t) => {
    const { page } = await open(false)
    const email = newEmail()
    provider.person = { sub: email, email, email_verified: true, name: 'Grace Hopper' }
    await page.goto(`${server.url}/sign-in`)
    await page.getByRole('link', { name: 'Sign in with local' }).click()
    await press(page, 'Continue')
    await page.getByRole('heading', { name: 'Grace Hopper' }).waitFor()
    provider.person = null
    const { page: second } = await open()
    await second.goto(`${server.url}/sign-in`)
    await second.getByRole('link', { name: 'Sign in with local' }).click()
    await second.getByText('The identity provider did not sign you in.').waitFor()
    await assertAccessible(t, second, 'a refusal')
  })

  t.test('a passkey', async (t) => {
    const origin = server.url.replace('127.0.0.1', 'localhost')
    const { page } = await open()
    await page.goto(`${origin}/console`)
    await addAuthenticator(page)
    const email = await personWithPassword(server)
    const token = await tokenOf(server, email)
    const session = await page.evaluate(useDevice, token)
    t.match(session, { methods: ['passkey'], current: true })
    t.equal(session.user_id, (await createClient(server.url, token).get('/user/profile')).body.id)
  })
})

/** Adds a passkey and signs in with it, as a page of an application would: the code of the guide. */
async function useDevice(token: string): Promise<{ methods: string[]; current: boolean; user_id: string }> {
  const api = async (path: string, body?: unknown): Promise<any> => {
    const response = await fetch(`/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
    return await response.json()
  }
  const { credentials } = navigator as any
  const json = (globalThis as any).PublicKeyCredential
  const made = await credentials.create({
    publicKey: json.parseCreationOptionsFromJSON(await api('/user/passkey-options')),
  })
  await api('/user/passkeys', { name: 'Phone', credential: made.toJSON() })
  const signed = await credentials.get({
    publicKey: json.parseRequestOptionsFromJSON(await api('/auth/passkey-options')),
  })
  return await api('/auth/sessions', { method: 'passkey', credential: signed.toJSON() })
}
