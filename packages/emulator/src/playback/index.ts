/** Recordings and journals played over the venue's own wire. */
export { playRecording, type Playback, type PlaybackOptions } from './play.ts'
