/** The output of `wasm-bindgen` for the module of training and checks, with types that its own declarations lack. */
import type { DeviceCheck } from './check-types.js';
import type { ColourMap } from './trace-types.js';
import type { TrainCheck, TrainedAttention, TrainedFiles, TrainerInfo, TrainProgress } from './train-types.js';

export default function init(input: { module_or_path: Response | BufferSource }): Promise<unknown>;

export function checkDevice(device: string, onProgress: (fraction: number) => void): Promise<DeviceCheck>;

/** Calls must not overlap. */
export class Pupil {
  static create(options: string, device: string): Promise<Pupil>;
  static resume(files: Record<string, Uint8Array>, device: string): Promise<Pupil>;
  info(): TrainerInfo;
  steps(count: number): Promise<TrainProgress>;
  check(samples: number): Promise<TrainCheck>;
  predict(input: string): Promise<string>;
  attention(input?: string): Promise<TrainedAttention>;
  colours(name: ColourMap): Uint8Array;
  files(state: boolean): Promise<TrainedFiles>;
  free(): void;
}
