// "Test Request" of the reference page: the first click succeeds, or its error is about a resource that does
// not exist. `npm run faults` tries every operation; `npm test` some of each kind.
import type { Locator, Page, Request } from 'playwright-core'
import t, { type Test } from 'tap'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { operations, type OperationId } from '../../generated/operations.ts'
import { areas } from '../../services/docs/areas.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { keyField, openDialog, openReference, sendButton } from '../support/browser/reference-page.ts'
import { startServer } from '../support/server/server.ts'
import { isLongForm } from '../support/long-form.ts'

const representative: OperationId[] = [
  'updateProfile',
  'uploadAvatar',
  'createApiKey',
  'listFiles',
  'uploadFile',
  'createUpload',
  'appendUpload',
  'createChat',
  'streamChat',
  'listEvents',
  'streamEvents',
  'getOrder',
  'getHealth',
]
/** The operations of the page, which does not repeat an update for PATCH. */
const shown = Object.values<any>(contract.paths)
  .flatMap((item) => Object.values<any>(item))
  .filter((one) => one.operationId !== undefined && one['x-same-as'] === undefined)
  .map((one): OperationId => one.operationId)
const tried = isLongForm ? shown : representative

/** Headers that an operation understands, but that the first request must not have. */
const optionalHeaders = ['if-match', 'if-none-match', 'idempotency-key', 'range', 'x-content-sha256']

const server = await startServer(t)

t.test('the first click of Test Request does not fail', { skip: skipWithoutBrowser }, async (t) => {
  const browser = await launchBrowser(t)
  const viewport = { width: 1200, height: 900 }
  for (const { name, tags } of areas()) {
    const own = new Set(tags.map((tag) => tag.name))
    const ids = tried.filter((id) => own.has(operations[id].tag))
    if (ids.length === 0) continue
    const { page } = await openReference(t, browser, server.url, { viewport, area: name })
    await keyField(page).fill(server.key)
    const dialog = await openDialog(page)
    await showOperations(dialog)
    for (const id of ids) await checkFirstRequest(t, page, dialog, id)
  }
})

async function checkFirstRequest(t: Test, page: Page, dialog: Locator, id: OperationId): Promise<void> {
  const sent = await tryOperation(page, dialog, id)
  if (sent === null) {
    t.fail(`${id} sends no request`)
    return
  }
  const answer = (await sent.response())!
  const text = answer.ok() ? '' : await answer.text()
  // The id of an example does not exist.
  const fine = answer.ok() || (answer.status() === 404 && !text.includes('no such path'))
  t.ok(fine, `${id}: ${answer.status()} ${text}`)
  t.equal(new URL(sent.url()).search, '', `${id} sends no optional query parameter`)
  const headers = Object.keys(await sent.allHeaders())
  t.same(
    headers.filter((name) => optionalHeaders.includes(name)),
    [],
    `${id} sends no optional header`,
  )
}

/** Shows all operations in the sidebar of the dialog. */
async function showOperations(dialog: Locator): Promise<void> {
  await dialog.locator('.scalar-sidebar-toggle').first().click()
  const closed = dialog.locator('button', { hasText: /Open Group$/ })
  while ((await closed.count()) > 0) await closed.first().click()
}

/** Chooses the operation and clicks Send. @returns the request, or null if there is none. */
async function tryOperation(page: Page, dialog: Locator, id: OperationId): Promise<Request | null> {
  const { method, path, summary } = operationOf(id)
  const label = { DELETE: 'DEL', OPTIONS: 'OPTS' }[method] ?? method
  await dialog.locator('button', { hasText: new RegExp(`^${summary}HTTP Method:\\s+${label}$`) }).click()
  // The address bar shows the path when the dialog shows the operation.
  await dialog.locator('.t-app__top-container', { hasText: path }).waitFor()
  const pattern = new RegExp(`^(/v1)?${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`)
  const [sent] = await Promise.all([
    page
      .waitForRequest(
        (request) => request.method() === method && pattern.test(new URL(request.url()).pathname),
        { timeout: 20_000 },
      )
      .catch(() => null),
    sendButton(dialog).click(),
  ])
  return sent
}

function operationOf(id: OperationId): { method: string; path: string; summary: string } {
  for (const [path, item] of Object.entries<any>(contract.paths)) {
    for (const [method, { operationId, summary }] of Object.entries<any>(item))
      if (operationId === id) return { method: method.toUpperCase(), path, summary }
  }
  throw new Error(`the contract has no operation ${id}`)
}
