// All attacks, in the order in which they run.
import type { Attack } from '../attack.ts'
import { anonymousAttacks } from './anonymous.ts'
import { eventAttacks } from './events.ts'
import { fileAttacks } from './files.ts'
import { knowledgeAttacks } from './knowledge.ts'
import { paymentAttacks } from './payments.ts'
import { requestAttacks } from './requests.ts'

export const attacks: Attack[] = [
  ...anonymousAttacks,
  ...requestAttacks,
  ...fileAttacks,
  ...knowledgeAttacks,
  ...eventAttacks,
  ...paymentAttacks,
]
