/** Where the socket is, and the subprotocol under which a browser may send its key. */
export const STREAM_PATH = '/v3/stream'
export const STREAM_PROTOCOL = 'priorbook.v3'
/** A second subprotocol `priorbook.key.<key>` carries the key where headers cannot be set. */
export const STREAM_KEY_PROTOCOL = 'priorbook.key.'

/** Why the server closes a socket; the reason text repeats the word. */
export const STREAM_CLOSE_CODES = {
  shutting_down: 1001,
  message_too_large: 1009,
  unauthenticated: 4401,
  plan_required: 4403,
  auth_timeout: 4408,
  revoked: 4410,
  slow_reader: 4429,
  flooding: 4430,
} as const
