/**
 * Errors that only the stream has, each with its sentence; it also uses those of the REST interface
 * (`PROBLEMS`), with the same meaning.
 */
export const STREAM_ERRORS = {
  malformed_message: 'The message is not a text frame with one JSON object.',
  message_too_large: 'The message is larger than 64 KiB.',
  unknown_op: 'The stream has no such operation.',
  already_authenticated: 'The connection is already authenticated.',
  auth_timeout: 'The client did not authenticate in time.',
  duplicate_id: 'The connection already has a subscription or replay with this id.',
  unknown_id: 'The connection has no subscription or replay with this id.',
  already_subscribed: 'Another subscription of the connection already includes this instrument.',
  too_many_connections: 'The key already has the maximum number of connections of its plan.',
  too_many_subscriptions:
    'The connection already has the maximum number of subscriptions of the plan.',
  too_many_instruments: 'The connection would have more instruments than the plan allows.',
  too_many_replays: 'The connection already has the maximum number of replays of the plan.',
  flooding: 'The client sends messages faster than the server processes them.',
  slow_reader: 'The client did not read the connection for too long.',
} as const

/** The code of such an error. */
export type StreamErrorCode = keyof typeof STREAM_ERRORS
