// Style sheets are bundled beside the scripts.
declare module "*.css";
