// Why a request would be refused: runs the checks that the request itself would meet, and nothing else.
import { operations } from '../generated/operations.ts'
import type { components } from '../generated/types.ts'
import { operationsAt } from '../infra/contract/operations-by-path.ts'
import type { OperationInfo } from '../infra/contract/operation.ts'
import type { RateLimitReader } from '../infra/contract/rate-limits.ts'
import type { Transaction } from '../infra/database/database.ts'
import { ApiError, forbidden, invalidField, notFound, rateLimited } from '../infra/errors.ts'
import { open } from './access.ts'
import { serviceAccountOf } from './organizations/service-accounts.ts'
import {
  addressRefusalOf,
  isOperator,
  principalOfUser,
  readPrincipalOfKey,
  readPrincipalOfSession,
  refusals,
  withFormerName,
  type Principal,
} from './users/authentication.ts'

type Explanation = components['schemas']['Explanation']
type Check = components['schemas']['AccessCheck']
type ExplainRequest = components['schemas']['ExplainRequest']

interface Caller {
  principal: Principal
  /** The operation that is explained. */
  info: OperationInfo
}

/** The operation of a method and a path. Throws 404 if there is none. */
export function findOperation({ method, path }: Pick<ExplainRequest, 'method' | 'path'>): OperationInfo {
  const found = operationsAt(path).find(
    (info) => info.method === method || (method === 'PATCH' && info.acceptsPatch === true),
  )
  if (found === undefined) throw notFound('operation', `${method} ${path}`)
  return found
}

/**
 * The sender of the explained request: the caller, or the key or user that the request names.
 * @returns the error of its authentication for a key or user that cannot make requests.
 * @throws 404; 403 for a key or user that the caller may not ask about, or if the calling key lacks the
 * scopes of the operation: it must not learn through another what exists.
 */
export async function findSender(
  tx: Transaction,
  caller: Caller,
  { credential_id, api_key_id, user_id: userId }: ExplainRequest,
): Promise<Principal | ApiError> {
  const { principal, info } = caller
  const credentialId = withFormerName(credential_id, { api_key_id })
  if (credentialId !== undefined && userId !== undefined)
    throw invalidField('user_id', 'one_of', 'Send either credential_id or user_id.')
  const asked = credentialId ?? userId
  if (asked === undefined || asked === principal.credentialId) return principal
  const missing = isOperator(principal) ? null : refusals.scope(principal, info)
  if (missing !== null) throw missing
  if (userId === undefined)
    return await (asked.startsWith('ses_') ? findSenderBySession : findSenderByKey)(tx, caller, asked)
  if (userId !== principal.userId && !isOperator(principal))
    throw forbidden('Only operators can explain what another user may do.', 'owner', userId)
  const user = await tx.prisma.user.findUnique({ where: { id: userId } })
  if (user === null || user.status === 'deleted') throw notFound('user', userId)
  return principalOfUser(userId, user.role)
}

async function findSenderByKey(
  tx: Transaction,
  caller: Caller,
  keyId: string,
): Promise<Principal | ApiError> {
  const row = await tx.prisma.apiKey.findUnique({ where: { id: keyId }, select: { userId: true } })
  if (row === null) throw notFound('API key', keyId)
  if (row.userId !== caller.principal.userId && !isOperator(caller.principal)) {
    const account = await serviceAccountOf(tx, row.userId)
    if (account === null) throw forbidden('This API key belongs to another user.', 'owner', keyId)
    // A caller who may read the key may ask about it.
    const { getServiceAccountKey: operation } = operations
    await open(tx, { operation, principal: caller.principal, params: { id: account.id } })
  }
  const sender = await readPrincipalOfKey(tx, keyId).catch(asApiError)
  return sender!
}

async function findSenderBySession(
  tx: Transaction,
  { principal }: Caller,
  id: string,
): Promise<Principal | ApiError> {
  const row = await tx.prisma.signIn.findUnique({ where: { id }, select: { userId: true } })
  // Only its user and operators may know that a session exists.
  if (row === null || (row.userId !== principal.userId && !isOperator(principal)))
    throw notFound('session', id)
  const sender = await readPrincipalOfSession(tx, id).catch(asApiError)
  return sender!
}

/** Returns an API error, and throws every other. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}

interface ExplainedRequest {
  info: OperationInfo
  path: string
  ip: string | undefined
  sender: Principal | ApiError
}

/** All checks of the request, in their order. */
export async function explain(
  tx: Transaction,
  rateLimits: RateLimitReader,
  { info, path, ip, sender }: ExplainedRequest,
): Promise<Explanation> {
  const checks: Check[] = []
  if (info.scopes !== null) {
    const failure = sender instanceof ApiError ? sender : null
    checks.push(check('credential', 'an active API key or session', failure))
    if (!(sender instanceof ApiError)) {
      if (ip !== undefined) checks.push(ofAddress(ip, sender))
      checks.push(...ofOperation(info, sender), await ofRateLimit(rateLimits, info, sender))
      // A caller who may not call the operation must not learn whether the resource exists.
      if (checks.every(({ passed }) => passed)) checks.push(...(await ofResource(tx, info, path, sender)))
    }
  }
  return { operation_id: info.id, allowed: checks.every(({ passed }) => passed), checks }
}

function ofAddress(ip: string, sender: Principal): Check {
  const requires = sender.networks === null ? null : 'an address of the allowed_addresses of the key'
  return check('address', requires, addressRefusalOf(sender, ip))
}

function ofOperation(info: OperationInfo, sender: Principal): Check[] {
  const scopes = info.scopes!.map((scope) => `the scope ${scope}`).join(' and ')
  return [
    check('scope', scopes || null, refusals.scope(sender, info)),
    check('session', info.needsSession === true ? 'a session' : null, refusals.session(sender, info)),
    check(
      'project_ids',
      info.unlimitedKey === true ? 'a key that is not limited to projects' : null,
      refusals.project_ids(sender, info),
    ),
  ]
}

async function ofRateLimit(
  rateLimits: RateLimitReader,
  { rateLimit }: OperationInfo,
  { accountId }: Principal,
): Promise<Check> {
  const use = (await rateLimits.read(accountId)).find(({ policy }) => policy === rateLimit)
  const requires = use === undefined ? null : `fewer than ${use.limit} requests per minute`
  const isUsedUp = use !== undefined && use.used >= use.limit
  const seconds = Math.max(1, Math.ceil(((use?.resetAt?.getTime() ?? 0) - Date.now()) / 1000))
  return check(
    'rate_limit',
    requires,
    isUsedUp ? rateLimited({ name: use.policy, limit: use.limit }, seconds) : null,
  )
}

/** The checks of what the path names: that it exists, the role, and the status of the project. */
async function ofResource(
  tx: Transaction,
  info: OperationInfo,
  path: string,
  sender: Principal,
): Promise<Check[]> {
  const access = info.projectAccess ?? info.organizationAccess ?? null
  const isOfSeller = info.organizationSellers === true
  const id = path.split('/').find((part) => /^[a-z]+_[0-9a-z]{26}$/.test(part))
  if ((access === null && !isOfSeller) || id === undefined) return []
  const request = { operation: info, principal: sender, params: { id } }
  const error = await open(tx, request).then(() => null, asApiError)
  const states = info.projectAccess?.states
  const requirements = {
    resource: 'that it exists',
    role: roleFor(access),
    status: states === undefined ? null : `a project that is ${states.join(' or ')}`,
  }
  const failed = error === null ? null : { 404: 'resource', 403: 'role', 409: 'status' }[error.status]
  // The checks after the first failure are not known.
  const names = ['resource', 'role', 'status'] as const
  const known = failed == null ? names : names.slice(0, names.indexOf(failed as 'role') + 1)
  return known.map((name) => check(name, requirements[name], name === failed ? error : null))
}

function roleFor(access: { role: string } | null): string | null {
  if (access === null) return 'an operator, or the role admin in the organization that sells'
  return access.role === 'none' ? null : `the role ${access.role}`
}

function check(name: Check['name'], requires: string | null, error: ApiError | null): Check {
  const { status, code, message } = error ?? {}
  return {
    name,
    passed: error === null,
    requires,
    error: error === null ? null : { status: status!, code: code!, message: message! },
  }
}
