// The expected status of a request for a resource of another tenant, or of a project outside of the API key.
// It is derived from the declaration of the operation; each exception has a reason.
import { operations, type OperationId } from '../../../generated/operations.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import type { Person } from '../server/server.ts'
import { isOperatorScope } from '../../../services/users/scopes.ts'

/**
 * `limited`: a key of the other tenant itself for another project. `operator`: a key with the scope admin of
 * another user, and `limited operator` one for another project.
 */
export type CallerKind = 'tenant' | 'limited' | 'operator' | 'limited operator'

export interface Caller {
  kind: CallerKind
  person: Person
}

/**
 * 400, 403 or 404, and nothing changes; `own`: an answer without anything of the other tenant; `allowed`: the
 * caller may read it.
 */
export type Expectation = 400 | 403 | 404 | 'own' | 'allowed'

interface Exception {
  operations: OperationId[]
  /** The name of a field, such as `query order_id`; default: the whole request of the other tenant. */
  field?: string
  /** Default: for all callers. */
  callers?: CallerKind[]
  expected: Expectation
  reason: string
}

/** Resources that all users share, by the prefix of their ids. */
export const sharedPrefixes = ['prod', 'prc']

export const exceptions: Exception[] = [
  {
    operations: ['uploadFile'],
    field: 'form folder_id',
    expected: 404,
    reason: 'a workspace has no folder of another one',
  },
  {
    operations: ['getTrashedFile', 'deleteTrashedFile', 'restoreFile'],
    field: 'path id',
    callers: ['tenant'],
    expected: 404,
    reason: 'a file that is not in the trash',
  },
  {
    operations: ['createArchive'],
    field: 'body folder_id',
    expected: 400,
    reason: 'the request has file_ids, which exclude a folder',
  },
  {
    operations: ['getSharedFolder', 'leaveSharedFolder'],
    expected: 404,
    reason: 'a share exists only for the person it is for',
  },
  {
    operations: ['getSharedFolder', 'leaveSharedFolder'],
    field: 'path id',
    expected: 404,
    reason: 'a share exists only for the person it is for',
  },
  {
    operations: ['listFiles'],
    field: 'query folder_id',
    expected: 'own',
    reason: 'a filter of the files that the caller may read',
  },
  {
    operations: ['copyFile'],
    field: 'body folder_id',
    callers: ['tenant'],
    expected: 404,
    reason: 'a workspace has no folder of another one',
  },
  {
    operations: ['batchFiles'],
    expected: 'own',
    reason: 'each file has its own result',
  },
  {
    operations: ['batchFiles'],
    field: 'body ids.*',
    expected: 'own',
    reason: 'each file has its own result',
  },
  {
    operations: ['batchFiles'],
    field: 'body folder_id',
    expected: 'own',
    reason: 'only moves have a folder, and each file has its own result',
  },
  {
    operations: ['createFolder', 'updateFolder'],
    field: 'body parent_id',
    expected: 404,
    reason: 'a workspace has no folder of another one',
  },
  {
    operations: ['listStorageItems'],
    field: 'query folder_id',
    expected: 404,
    reason: 'a workspace has no folder of another one',
  },
  {
    operations: ['updateFile', 'moveFile'],
    field: 'body folder_id',
    expected: 404,
    reason: 'a workspace has no folder of another one',
  },
  {
    operations: ['createBudget'],
    expected: 404,
    reason: 'only who may set a budget knows of its subject',
  },
  {
    operations: ['createBudget'],
    field: 'body subject_id',
    callers: ['tenant', 'limited operator'],
    expected: 404,
    reason: 'only who may set a budget knows of its subject',
  },
  {
    operations: ['listBudgets'],
    field: 'query subject_id',
    callers: ['tenant', 'limited operator'],
    expected: 404,
    reason: 'only who may read its budgets knows of a subject',
  },
  {
    operations: ['listBudgets'],
    field: 'query created_by',
    callers: ['tenant', 'limited operator'],
    expected: 'own',
    reason: 'a filter of the budgets of the caller',
  },
  {
    operations: [
      'getHealth',
      'getReadiness',
      'getOpenapiJson',
      'getOpenapiYaml',
      'getDocs',
      'getUploadOptions',
    ],
    expected: 'own',
    reason: 'the same for everyone, without a key',
  },
  {
    operations: ['getAvatarImage'],
    expected: 'allowed',
    reason: 'pictures of users are public, at random ids',
  },
  {
    operations: [
      'downloadByLink',
      'getImageByLink',
      'uploadByLink',
      'createLinkUpload',
      'getLinkUpload',
      'appendLinkUpload',
      'deleteLinkUpload',
      'showUploadPage',
      'submitUploadPage',
      'showPayPage',
      'payCheckout',
      'confirmPayment',
      'returnFromGateway',
    ],
    expected: 'allowed',
    reason: 'the id or token is the secret that gives access',
  },
  {
    operations: [
      'signUp',
      'confirmEmail',
      'signIn',
      'refreshSession',
      'moveSessionToCookie',
      'startOidcSignIn',
      'finishOidcSignIn',
      'startPasskeySignIn',
      'removeIdentity',
      'startPasskey',
      'addPasskey',
      'removePasskey',
      'showSignInPage',
      'submitSignIn',
      'showSignUpPage',
      'submitSignUp',
      'showSignInHelp',
      'submitSignInHelp',
      'showTokenPage',
      'submitToken',
      'showAccountPage',
      'submitSignOut',
      'submitPasskeyRemoval',
      'submitIdentityRemoval',
      'showInvitationPage',
      'submitInvitation',
      'openPortal',
      'showPortal',
      'leavePortal',
      'showPortalPlans',
      'submitPortalSubscription',
      'submitPortalCard',
      'showPortalReceipt',
      'requestMagicLink',
      'requestPasswordReset',
      'resetPassword',
      'introspectToken',
      'getCurrentSession',
      'signOut',
      'deleteCurrentUser',
      'changePassword',
      'requestEmailChange',
      'confirmEmailChange',
      'startTotp',
      'removeTotp',
      'confirmTotp',
    ],
    expected: 'allowed',
    reason: 'the token, password or cookie is the secret that gives access',
  },
  {
    operations: ['createDocuments'],
    field: 'body documents.*.file_id',
    expected: 'own',
    reason: 'the answer has an error for this document',
  },
  { operations: ['receiveStripeEvent'], expected: 404, reason: 'the gateway is not configured' },
  {
    operations: ['listServiceAccounts'],
    field: 'query key_created_by',
    expected: 'own',
    reason: 'a filter of the own service accounts, by a user who may have left',
  },
  {
    operations: ['listServiceAccountKeys'],
    field: 'query created_by',
    expected: 'own',
    reason: 'a filter of the keys of an own service account',
  },
  {
    operations: [
      'listFiles',
      'listFolders',
      'listTrash',
      'listJobs',
      'listShares',
      'listFileVersions',
      'listFileLinks',
      'listAllFileLinks',
      'listUploadLinks',
      'listSessions',
      'listKnowledgeBases',
      'listDocuments',
      'listSources',
      'listProducts',
      'listPrices',
      'listOrders',
    ],
    field: 'query created_by',
    expected: 'own',
    reason: 'a filter of what the caller may read, by an author who may have left',
  },
  {
    operations: ['getProduct', 'getPrice', 'listProducts', 'listPrices', 'listModels'],
    expected: 'allowed',
    reason: 'all users share the catalog and the models',
  },
  {
    operations: ['listProducts', 'listPrices'],
    field: 'query organization_id',
    expected: 404,
    reason: 'only its admins know whether an organization sells',
  },
  {
    operations: [
      'listOrders',
      'listCheckouts',
      'listSubscriptions',
      'listAllRefunds',
      'listPayments',
      'listDisputes',
    ],
    field: 'query seller_organization_id',
    expected: 404,
    reason: 'only its admins know what an organization sells',
  },
  {
    operations: ['createCheckout'],
    callers: ['operator'],
    expected: 'allowed',
    reason: 'sellers create sessions for the orders of their customers',
  },
  {
    operations: ['listEvents', 'streamEvents'],
    callers: ['operator'],
    expected: 'allowed',
    reason: 'operators read the events of all sales',
  },
  {
    operations: ['listAuditEntries'],
    callers: ['operator'],
    expected: 'allowed',
    reason: 'operators read the whole audit log',
  },
  {
    operations: ['getEvent'],
    callers: ['limited'],
    expected: 'allowed',
    reason: 'a limited key reads the profile events of its user',
  },
  {
    operations: ['explainAccess'],
    expected: 'own',
    reason: 'says what the caller may do; the ids are those of the request',
  },
  {
    operations: ['deleteServiceAccount', 'revokeServiceAccountKey'],
    callers: ['operator'],
    expected: 'allowed',
    reason: 'operators stop programs that do harm',
  },
  {
    operations: ['addMember', 'addOrganizationMember'],
    field: 'body user_id',
    expected: 'own',
    reason: 'every user can be invited; the answer has nothing of the user but the id',
  },
  {
    operations: [
      'createChat',
      'streamChat',
      'createChatCompletion',
      'createResponse',
      'regenerateMessage',
      'sendToolResults',
      'searchKnowledgeBase',
      'searchKnowledgeBases',
    ],
    field: 'body filters.document_ids.*',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: [
      'listProjects',
      'listFiles',
      'listFolders',
      'listTrash',
      'listJobs',
      'listAllFileLinks',
      'listUploadLinks',
      'listSessions',
      'listKnowledgeBases',
      'listEvents',
    ],
    field: 'query organization_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listOrders'],
    field: 'query subscription_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listAuditEntries'],
    field: 'query project_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listAuditEntries'],
    field: 'query user_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listAuditEntries'],
    field: 'query credential_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listRequests'],
    field: 'query credential_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listRequests'],
    field: 'query key_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listOpenAiFiles'],
    field: 'query after',
    expected: 'own',
    reason: 'a place in the list of what the caller may read',
  },
  {
    operations: ['listAllFileLinks'],
    field: 'query file_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listAllWebhookDeliveries'],
    field: 'query endpoint_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listAllWebhookDeliveries'],
    field: 'query event_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listOrders', 'listCheckouts', 'listSubscriptions'],
    field: 'query customer_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listCheckouts', 'listAllRefunds', 'listPayments', 'listDisputes'],
    field: 'query order_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listPayments'],
    field: 'query subscription_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: ['listDisputes'],
    field: 'query payment_id',
    expected: 'own',
    reason: 'a filter of what the caller may read, which then matches nothing',
  },
  {
    operations: [
      'listOrders',
      'listCheckouts',
      'listSubscriptions',
      'listAllRefunds',
      'listPayments',
      'listDisputes',
    ],
    field: 'query user_id',
    callers: ['limited operator'],
    expected: 'own',
    reason: 'an operator reads the sales of all users in the projects of the key',
  },
]

/** @param field the name of the field with an id of the other tenant; null for the tenant's whole request. */
export function expectationOf(
  id: OperationId,
  kind: CallerKind,
  { field, hasIds }: { field: string | null; hasIds: boolean },
): Expectation {
  const declared = exceptions.find(
    (each) =>
      each.operations.includes(id) &&
      (each.field ?? null) === field &&
      (each.callers?.includes(kind) ?? true),
  )
  if (declared !== undefined) {
    used.add(declared)
    return declared.expected
  }
  const { path, scopes, unlimitedKey, projectAccess, organizationAccess } = operations[id] as OperationInfo
  const isLimited = kind === 'limited' || kind === 'limited operator'
  if (scopes === null) throw new Error(`${id} needs no API key: declare what others get in exceptions`)
  if (scopes.some(isOperatorScope) && kind === 'operator') return 'allowed'
  // Only who may change it knows a budget.
  if (path.startsWith('/v1/payments/budgets/{id}')) return 404
  // Only its seller knows a customer, a meter or a feature.
  if (kind === 'tenant' && /^\/v1\/payments\/(customers|meters|features)\/\{id\}/.test(path)) return 404
  if (scopes.some(isOperatorScope)) return 403
  if (unlimitedKey === true && isLimited) return 403
  if (kind === 'operator' && projectAccess?.operators !== undefined) return 'allowed'
  if (!hasIds) return 'own'
  // Inside the caller's own resource, a part of another tenant's resource does not exist.
  if (field?.startsWith('path ') === true && field !== 'path id') return 404
  // An invitation is not visible to users from outside the project, unless they are invited.
  if ((projectAccess ?? organizationAccess)?.role === 'none' && !isLimited) return 404
  return 403
}

const used = new Set<Exception>()

/** The exceptions that no expectation has used. */
export function unusedExceptions(): Exception[] {
  return exceptions.filter((each) => !used.has(each))
}
