/**
 * Errors that only the stream has, each with its sentence; it also uses those of the REST interface
 * (`PROBLEMS`), with the same meaning.
 */
export const STREAM_ERRORS = {
  malformed_message: 'The message is not one JSON object as text.',
  message_too_large: 'The message is larger than 64 KiB.',
  unknown_op: 'The operation is not one of the stream.',
  already_authenticated: 'The connection has its key already.',
  auth_timeout: 'No key came in time.',
  duplicate_id: 'A subscription or replay with this id is there already.',
  unknown_id: 'No subscription or replay has this id.',
  already_subscribed: 'Another subscription of the connection has this instrument.',
  too_many_connections: 'The key has as many connections as its plan allows.',
  too_many_subscriptions: 'The connection has as many subscriptions as the plan allows.',
  too_many_instruments: 'The connection would have more instruments than the plan allows.',
  too_many_replays: 'The connection has as many replays as the plan allows.',
  flooding: 'Messages come faster than they are taken.',
  slow_reader: 'The connection was not read for too long.',
} as const

/** The code of such an error. */
export type StreamErrorCode = keyof typeof STREAM_ERRORS
