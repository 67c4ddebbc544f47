// The forms of the contract, for the dialogs and the search.
import data from '../../generated/console/forms.json' with { type: 'json' }
import type { PackedForms } from './model-types.ts'

export const forms = data as unknown as PackedForms
