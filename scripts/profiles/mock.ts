// This project's profile of the mock: requests are refused as the server refuses them, with the same
// messages.
import { formats } from '../../infra/validation/formats.ts'
import { checkWith } from '../../infra/validation/problems.ts'
import { parseStrictJson } from '../../infra/validation/strict-json.ts'
import { acceptsPatch } from '../generate/patch-operations.ts'
import type { MockProfile } from '@platform-api/mock/profile.ts'

export const profile: MockProfile = {
  formats,
  parseJson: parseStrictJson,
  check: checkWith,
  acceptsPatch,
}
