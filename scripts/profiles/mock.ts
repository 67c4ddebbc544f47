// This project's profile of the mock: requests are refused as the server refuses them, with the same
// messages.
import { ApiError, type Details, type ErrorCode } from '../../infra/errors.ts'
import { formats } from '../../infra/validation/formats.ts'
import { checkWith } from '../../infra/validation/problems.ts'
import { parseStrictJson } from '../../infra/validation/strict-json.ts'
import { acceptsPatch } from '../generate/patch-operations.ts'
import type { MockProfile } from '@platform-api/mock/profile.ts'

export const profile: MockProfile = {
  formats,
  parseJson: parseStrictJson,
  check: checkWith,
  errorBody: ({ status, code, message, details }, requestId) =>
    new ApiError(status, code as ErrorCode, message, details as Details).toBody(requestId),
  acceptsPatch,
}
