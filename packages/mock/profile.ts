// The differences between the mock of any API and the mock of a server whose rules are known.
import type { Format, ValidateFunction } from 'ajv'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { fieldOf } from '@platform-api/contract/validation.ts'
import { invalidRequest, type MockError, type Problem } from './errors.ts'

export interface MockProfile {
  /** The formats of strings that are checked. */
  formats: Record<string, Format>
  /** Throws an error with the fields of MockError if the body is refused. */
  parseJson(body: Buffer): unknown
  /** Adds the problems of the value to `problems`. */
  check(validate: ValidateFunction, value: unknown, location: Problem['location'], problems: Problem[]): void
  /** The body of an error, if the contract declares no other. */
  errorBody(error: Pick<MockError, 'status' | 'code' | 'message' | 'details'>, requestId: string): object
  /** Whether the PUT of the path is also a PATCH, although the document does not declare it. */
  acceptsPatch(item: object): boolean
}

/** The rules of OpenAPI, for any document. */
export const openapi: MockProfile = {
  formats: fullFormats,
  parseJson(body) {
    try {
      return JSON.parse(body.toString('utf8'))
    } catch {
      const message = 'The body is not valid JSON.'
      throw invalidRequest([{ field: 'body', constraint: 'json', message, location: 'body' }])
    }
  },
  check(validate, value, location, problems) {
    if (validate(value)) return
    for (const error of validate.errors!) {
      const { keyword, params, message = 'is invalid' } = error
      // The errors of `then` say what is wrong.
      if (keyword === 'if') continue
      const field = fieldOf(error) || 'body'
      const says =
        params.missingProperty !== undefined
          ? 'is required'
          : params.additionalProperty !== undefined
            ? 'is not declared'
            : message
      problems.push({ field, constraint: keyword, message: `${field} ${says}`, location })
    }
  },
  errorBody: ({ code, message, details }, requestId) => ({
    error: { code, message, details: { ...details, request_id: requestId } },
  }),
  acceptsPatch: () => false,
}
