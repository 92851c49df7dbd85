export { createAskIntent } from "./routes/intent-question.ts";
export { createRoutedLoop } from "./routes/routed-loop.ts";
