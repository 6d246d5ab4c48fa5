/** The stream: live rows and replays over one WebSocket. */
export {
  createStreamServer,
  DEMO_STREAM_PATH,
  isStreamUpgrade,
  type StreamOptions,
  type StreamServer,
} from './server.ts'
