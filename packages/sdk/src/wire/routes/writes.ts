import {
  ALERT_CREATED_SCHEMA,
  ALERT_DELIVERY_SCHEMA,
  ALERT_RULE_SCHEMA,
  ALERT_SCHEMA,
} from '../alert.ts'
import type { JsonSchema } from '../json-schema.ts'

/** What a route does with another method than GET. */
export type WriteContract = {
  /** Names it in OpenAPI (`operationId`) and in usage. */
  readonly id: string
  readonly summary: string
  readonly description: string
  /** The JSON that the request carries; absent where it carries none. */
  readonly body?: JsonSchema
  /** The schema of `data`. */
  readonly data: JsonSchema
}

/** The methods by which routes change something. */
export const WRITE_METHODS = ['POST', 'DELETE'] as const

/** The name of one of them. */
export type WriteMethod = (typeof WRITE_METHODS)[number]

/** What a route does by its methods. */
export type Writes = Readonly<Partial<Record<WriteMethod, WriteContract>>>

/** Creates a rule. */
export const CREATE_ALERT: WriteContract = {
  id: 'alert_create',
  summary: 'Create an alert',
  description:
    'Watches from now on, and sends what happens to the webhook. The answer holds the secret that signs deliveries, which cannot be read again. The first book, and the first one after a gap, sets where the rule stands and never fires it.',
  body: ALERT_RULE_SCHEMA,
  data: ALERT_CREATED_SCHEMA,
}

/** Deletes a rule. */
export const DELETE_ALERT: WriteContract = {
  id: 'alert_delete',
  summary: 'Delete an alert',
  description:
    'Ends the rule. Events that were not delivered are deleted with it; the answer is the rule as it was.',
  data: ALERT_SCHEMA,
}

/** Sends an event that nothing caused. */
export const TEST_ALERT: WriteContract = {
  id: 'alert_test',
  summary: 'Send a test event',
  description:
    'Adds an event of kind `test`, which is delivered like every other one, behind those that wait.',
  data: ALERT_DELIVERY_SCHEMA,
}
