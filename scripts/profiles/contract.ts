// This project's profile of the contract tests.
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { withListedValues } from '@platform-api/contract/listed-values.ts'
import type { ContractProfile } from '@platform-api/contract/profile.ts'
import { formats } from '../../infra/validation/formats.ts'
import { flows } from './contract-flows.ts'

/** An id in an example refers to no existing resource. */
const typedId = /"[a-z]+_[0-7][0-9a-z]{25}"/

/** They need an e-mail, a browser, another person, or something that ends while it is tested. */
const rarelyReached = `
  signUp confirmEmail signIn refreshSession moveSessionToCookie
  resetPassword startOidcSignIn finishOidcSignIn getPasskey getIdentity
  getSignIn endSignIn submitSignIn submitSignUp submitSignInHelp
  submitToken showInvitationPage submitInvitation acceptOrganizationInvitation acceptInvitationToOrganization
  declineOrganizationInvitation revokeServiceAccountKey transferProject cancelMessage getDocumentText
  downloadAccountExport createEmbeddings sendToolResults getCustomerByExternalId previewSubscription
  getPaymentMethod setDefaultPaymentMethod deletePaymentMethod openPortal submitPortalCard
  showPortalPlans submitPortalSubscription createBudget getBudget updateBudget patchBudget deleteBudget
  uploadByLink showUploadPage submitUploadPage getFileImage getImageByLink
  createLinkUpload getLinkUpload appendLinkUpload deleteLinkUpload
  getTrashedFile deleteTrashedFile restoreFile getJob cancelJob
  getFileVersion downloadFileVersion restoreFileVersion deleteFileVersion replaceFileContent
  getSharedFolder leaveSharedFolder signUploadParts completeUpload
`
  .trim()
  .split(/\s+/)

export const profile: ContractProfile = {
  prepare(document) {
    const prepared = withListedValues(document)
    // A file that is replaced by the next one would be missing afterwards.
    const policy = prepared.components.schemas.FileConflictPolicy
    if (policy !== undefined) policy.enum = ['duplicate', 'rename']
    return prepared
  },
  formats: { ...fullFormats, timezone: formats.timezone },
  selects: ({ node }) => node['x-needs-session'] !== true,
  accounts: {
    user: { name: 'Contract test' },
    operator: { role: 'admin' },
    key: (scopes) => ({ name: 'contract-test', scopes }),
    operatorScopes: ['payments:sell'],
  },
  flows,
  neverSucceeds: new Set(['advanceTestClock', 'receiveStripeEvent']),
  isApart: (path) => /\/storage\/(trash|shared)\b/.test(path),
  mayFail: new Set(rarelyReached),
  concurrent: true,
  rateLimitAdvice: 'Start a test server with higher RATE_LIMIT_… settings',
  requests: {
    examples: ({ examples = [] }) => examples.filter((each: unknown) => !typedId.test(JSON.stringify(each))),
    maxParameters: Infinity,
    linkedPaths: true,
    putMerges: true,
  },
  refusals: {
    isOfKey: (_operation, status, expected) => status === expected,
    keyFirst: true,
    isOfInvalid: () => false,
    missingBody: [400, 411, 415],
    mediaType: [415],
    brokenJson: [400],
    strictBodies: true,
    nameField: true,
    businessRules: [
      /^(create|update|patch)KnowledgeBase chunking\.overlap_tokens maximum$/,
      /^createPrice recurring\.interval_count maximum$/,
      // Which fields an action of a batch has.
      /^batchFiles (path|folder_id|tags|metadata)\S* (exclusive|required|additionalProperties)$/,
      // Which fields of a meter fit together.
      /^createMeter (property|aggregation|source|dimensions\S*) (exclusive|required|enum|reserved)$/,
      /^createMeter dimensions\S* uniqueItems$/,
      /^createCheckout items maxItems$/,
      // The limit on all values of a body comes before its schema.
      / body max_values$/,
    ],
  },
  answers: {
    isImplied: () => false,
    // All answers have the fields of the rate limit, but errors from before the counting.
    needsHeader: (name, status) => /^ratelimit/i.test(name) && (status < 400 || status === 429),
    closed: true,
    repeatInput: true,
    updatesShowResource: true,
    changeTogether: [['path', 'folder_id']],
    replayHeader: 'Idempotent-Replayed',
    nameOwner: true,
  },
  lists: { logs: true, search: 'q', unknownIds: false },
}
