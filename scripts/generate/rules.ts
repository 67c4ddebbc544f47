// This project's lint rules for the spec, as a Redocly plugin. Each rule prevents a case in which an
// operation would silently do less than the spec declares.
import { withExtensions } from './extensions.ts'
import { directionRules } from './rules/directions.ts'
import { discriminatorRules } from './rules/discriminators.ts'
import { documentRules } from './rules/document.ts'
import { eventRules } from './rules/events.ts'
import { exampleRules } from './rules/examples.ts'
import { extensionRules } from './rules/extensions.ts'
import { lifetimeRules } from './rules/lifetime.ts'
import { nameRules } from './rules/names.ts'
import { operationRules } from './rules/operations.ts'
import { schemaRules } from './rules/schemas.ts'
import { valueRules } from './rules/values.ts'

const rules = {
  ...documentRules,
  ...operationRules,
  ...nameRules,
  ...directionRules,
  ...schemaRules,
  ...discriminatorRules,
  ...eventRules,
  ...exampleRules,
  ...lifetimeRules,
  ...extensionRules,
  ...valueRules,
}

export const ruleNames = Object.keys(rules)
export const platformRules = {
  id: 'platform',
  rules: { oas3: rules },
  typeExtension: { oas3: withExtensions },
}
