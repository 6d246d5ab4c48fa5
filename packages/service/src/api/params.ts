export {
  DEFAULT_LIMIT,
  DEPTH_PARAM,
  INTERVALS,
  RANGE_PARAMS,
  type Interval,
} from '@priorbook/sdk/wire'
